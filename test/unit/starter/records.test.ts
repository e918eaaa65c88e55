import {
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const REQUEST = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a01';
const PATIENT = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a02';
const BUNDLE = { resourceType: 'Bundle', type: 'collection' };

let exchange: Stub;
let folder: string;
let ends: 'completed' | 'failed';
let canDownload: boolean;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'records-'));
  ends = 'completed';
  canDownload = true;
  let looks = 0;
  exchange = await startStub();
  exchange.answer = ({ method, url }) => {
    const query = { requestId: REQUEST, conversionType: 'json' };
    if (url.startsWith('/result'))
      return canDownload
        ? { status: 200, body: BUNDLE }
        : { status: 410, body: { title: 'expired' } };
    looks += method === 'GET' ? 1 : 0;
    if (looks < 2)
      return { status: 200, body: { ...query, status: 'processing' } };
    return {
      status: 200,
      body: {
        ...query,
        status: ends,
        ...(ends === 'completed'
          ? { result: `${exchange.url}/result` }
          : { message: 'it could not be' }),
      },
    };
  };
});
afterEach(async () => {
  await exchange.close();
  await rm(folder, { recursive: true, force: true });
});

const records = (...argv: string[]) =>
  starter([
    'records',
    PATIENT,
    '--format',
    'json',
    '--base-url',
    exchange.url,
    '--api-key',
    'key',
    ...argv,
  ]);

test('a record is put together, followed and saved for its owner alone', async () => {
  const out = join(folder, 'record.json');
  const run = await records(
    '--out',
    out,
    '--resources',
    'Condition,Goal',
    '--from',
    '2024-01-01',
    '--json',
  );
  expect(run.exitCode).toBe(0);
  expect(run.json()).toMatchObject({
    requestId: REQUEST,
    status: 'completed',
    path: out,
  });
  expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(BUNDLE);
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  const [start, ...others] = exchange.requests;
  expect(start?.url).toContain(
    'conversionType=json&resources=Condition%2CGoal&dateFrom=2024-01-01',
  );
  // The link carries its own authority.
  expect(others.at(-1)?.headers['x-api-key']).toBeUndefined();
});

test('nothing is written over, nor is anything asked for then', async () => {
  const out = join(folder, 'record.json');
  await writeFile(out, 'mine');
  const run = await records('--out', out);
  expect([run.exitCode, exchange.requests.length]).toEqual([2, 0]);
  expect(await readFile(out, 'utf8')).toBe('mine');
});

test('one that fails says why and leaves no file; neither does a download that fails', async () => {
  ends = 'failed';
  const failed = await records('--out', join(folder, 'a'));
  expect(failed.exitCode).toBe(4);
  expect(failed.stdout).toContain('failed (it could not be)');
  ends = 'completed';
  canDownload = false;
  expect((await records('--out', join(folder, 'b'))).exitCode).not.toBe(0);
  expect(await readdir(folder)).toEqual([]);
});
