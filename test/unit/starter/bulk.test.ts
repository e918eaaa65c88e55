import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { saveAside } from '../../../src/starter/output/out-folder.ts';
import { type Stub, startStub } from '../../support/http-stub.ts';
import { starter } from '../../support/run-starter.ts';

const HEADER =
  'id,firstName,lastName,dob,gender,addressLine1-1,city-1,state-1,zip-1\n';
const row = (id: string, zip = '02110', dob = '1980-02-03') =>
  `${id},Jane,Smith,${dob},F,1 Main St,Boston,MA,${zip}\n`;

let folder: string;
let exchange: Stub;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bulk-'));
  exchange = await startStub();
});
afterEach(async () => {
  await exchange.close();
  await rm(folder, { recursive: true, force: true });
});

async function bulk(content: string, ...options: string[]) {
  const file = join(folder, 'panel.csv');
  await writeFile(file, content);
  return starter([
    'bulk',
    file,
    ...options,
    '--base-url',
    exchange.url,
    '--api-key',
    'key',
  ]);
}
const files = async () => (await readdir(folder)).sort();
const list = () => readFile(join(folder, 'panel.errors.csv'), 'utf8');

describe('a panel that is not in the expected format', () => {
  test.each([
    ['a column is missing', 'id,firstName\n1,Jane\n', /lastName/],
    ['it is a workbook', 'PK\u0003\u0004rest', /workbook/],
    ['it is empty', '', /empty/],
    ['it has no row', HEADER, /no row/],
  ])('is refused in one sentence when %s', async (_, content, told) => {
    const run = await bulk(content);
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(told);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(exchange.requests).toEqual([]);
    expect(await files()).toEqual(['panel.csv']);
  });

  test('or is not there says so', async () => {
    const run = await starter([
      'bulk',
      join(folder, 'none.csv'),
      '--base-url',
      exchange.url,
      '--api-key',
      'k',
    ]);
    expect(run).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no such file'),
    });
  });
});

describe('a panel with rows that break a rule', () => {
  const content =
    HEADER + row('1') + row('2', '2110', 'soon') + row('3') + row('=4', '=1');

  test('is not sent: the first rows are shown, and every error is listed in a file', async () => {
    const run = await bulk(content);
    expect(run.exitCode).toBe(2);
    expect(run.stdout).toMatch(/2 of 4 rows are invalid/);
    expect(run.stdout).toMatch(/row 2, zip-1: .*4 digits/);
    expect(run.stdout).toContain('--send-anyway');
    expect(exchange.requests).toEqual([]);
    const lines = (await list()).trimEnd().split('\r\n');
    expect(lines[0]).toBe('row,column,error');
    expect(
      lines.slice(1).map((line) => line.split(',').slice(0, 2).join(' ')),
    ).toEqual(['2 dob', '2 zip-1', '4 zip-1']);
  });

  test('leaves no cell in the document for programs, whose output ends up in logs', async () => {
    const run = await bulk(content, '--json');
    expect(run.json()).toEqual({
      command: 'bulk',
      status: 'not-sent',
      rows: 4,
      wrongRows: 2,
      errorsFile: join(folder, 'panel.errors.csv'),
      exitCode: 2,
    });
  });

  test('shows ten of many rows', async () => {
    const run = await bulk(
      HEADER +
        Array.from({ length: 2_345 }, (_, n) => row(`${n}`, '1')).join(''),
    );
    expect(run.stdout.match(/^ {2}row \d+/gm)).toHaveLength(10);
    expect(run.stdout).toContain('and 2,335 more rows');
    expect((await list()).trimEnd().split('\r\n')).toHaveLength(2_346);
  });

  test.each([['--send-anyway'], ['--dry-run']])(
    'goes on with %s',
    async (option) => {
      const run = await bulk(content, option);
      // As far as this test can go: the work runs in Temporal.
      expect(run.stderr).toContain('TEMPORAL_ADDRESS');
    },
  );

  test('whose errors are mended leaves no list behind, and goes on', async () => {
    await bulk(content);
    const run = await bulk(HEADER + row('1'));
    expect(run.stdout).toContain('1 row checked, all valid');
    expect(run.stderr).toContain('TEMPORAL_ADDRESS');
    expect(await files()).toEqual(['panel.csv']);
  });
});

describe('a file that comes of it', () => {
  const save = (text: string, sha256: string) =>
    saveAside(
      join(folder, 'panel.corrections.csv'),
      Readable.from([text]),
      sha256,
    );

  test('never takes the place of one that somebody may be correcting, and is not written twice', async () => {
    const sha256 = createHash('sha256').update('new').digest('hex');
    await writeFile(join(folder, 'panel.corrections.csv'), 'half corrected');
    const second = await save('new', sha256);
    expect(second).toBe(join(folder, 'panel.corrections-2.csv'));
    expect(await save('new', sha256)).toBe(second);
    expect(await readFile(join(folder, 'panel.corrections.csv'), 'utf8')).toBe(
      'half corrected',
    );
    expect(await files()).toEqual([
      'panel.corrections-2.csv',
      'panel.corrections.csv',
    ]);
  });

  test('that cannot be fetched leaves nothing behind', async () => {
    async function* broken() {
      yield Buffer.from('x');
      throw new Error('gone');
    }
    const call = saveAside(
      join(folder, 'panel.result.csv'),
      Readable.from(broken()),
      'x',
    );
    await expect(call).rejects.toThrow('gone');
    expect(await files()).toEqual([]);
  });
});
