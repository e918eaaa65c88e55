import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const PATIENT = '0198f1c2-0000-7000-8000-000000000001';
const FILES = ['hie-1.xml', '../../../evil file.pdf'];

let folder: string;
let exchange: Stub;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'documents-'));
  exchange = await startStub();
  exchange.answer = ({ url }) => {
    const { pathname, searchParams } = new URL(url, exchange.url);
    const fileName = searchParams.get('fileName') ?? '';
    if (pathname.startsWith('/links/'))
      return { status: 200, body: decodeURIComponent(pathname) };
    if (pathname === '/medical/v1/document') {
      const documents = FILES.map((name, index) => ({
        id: `d${index}`,
        fileName: name,
        description: `Paper ${index}`,
      }));
      return { status: 200, body: { documents } };
    }
    const format = searchParams.get('conversionType');
    if (format !== null && fileName.endsWith('pdf'))
      return { status: 400, body: { status: 400, detail: 'no XML' } };
    return {
      status: 200,
      body: {
        url: `${exchange.url}/links/${encodeURIComponent(`${fileName}:${format}`)}`,
      },
    };
  };
});
afterEach(async () => {
  await exchange.close();
  await rm(folder, { recursive: true, force: true });
});

const documents = (...options: string[]) =>
  starter([
    'documents',
    PATIENT,
    ...options,
    '--base-url',
    exchange.url,
    '--api-key',
    'key',
  ]);

test('documents are listed, and without a folder none is fetched', async () => {
  const { exitCode, stdout } = await documents('--content', 'paper');
  expect(exitCode).toBe(0);
  expect(stdout).toContain('Paper 0');
  expect(exchange.requests.map(({ url }) => url)).toEqual([
    expect.stringMatching(
      /document\?.*output=dto.*content=paper|document\?.*content=paper.*output=dto/,
    ),
  ]);
});

test('they are downloaded, converted where that is possible, under names that stay in the folder', async () => {
  const { json } = await documents(
    '--out',
    folder,
    '--format',
    'html',
    '--json',
  );
  expect((await readdir(folder)).sort()).toEqual([
    'evil_file.pdf',
    'hie-1.html',
  ]);
  expect(await readFile(join(folder, 'hie-1.html'), 'utf8')).toBe(
    '/links/hie-1.xml:html',
  );
  expect(await readFile(join(folder, 'evil_file.pdf'), 'utf8')).toBe(
    '/links/../../../evil file.pdf:null',
  );
  expect(json()).toMatchObject({
    exitCode: 0,
    documents: [
      { savedAs: join(folder, 'hie-1.html') },
      { savedAs: join(folder, 'evil_file.pdf') },
    ],
  });
  // The key is for the exchange; the link is a permission of its own.
  const fetched = exchange.requests.filter(({ url }) =>
    url.startsWith('/links/'),
  );
  expect(fetched.map(({ headers }) => headers['x-api-key'])).toEqual([
    undefined,
    undefined,
  ]);
});

test('saved files are told in a line each, with what they are, and how many there are', async () => {
  const { stdout } = await documents('--out', folder);
  const lines = stdout.trim().split('\n');
  expect(lines.at(-1)).toBe(`2 documents saved in ${folder}`);
  // A head, a rule, and a line for each.
  expect(lines).toHaveLength(5);
  expect(stdout).toMatch(/hie-1\.xml$/m);
});
