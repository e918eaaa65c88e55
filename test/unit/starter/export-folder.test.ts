import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  isComplete,
  manifestFiles,
  openExportFolder,
  prepareExportFolder,
  saveExportFile,
} from '../../../src/starter/output/export-folder.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'export-folder-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const FILE = {
  kind: 'output',
  name: 'Patient.1.ndjson',
  type: 'Patient',
  count: 2,
  sizeBytes: 6,
} as const;
const manifest = (
  transactionTime = '2026-05-01T12:00:00.000Z',
  url = `http://exchange/x/${FILE.name}`,
) => ({
  transactionTime,
  output: [{ type: 'Patient', url, count: 2, sizeBytes: 6 }],
  deleted: [],
  error: [],
});
const save = (text: string) =>
  saveExportFile(folder, FILE, content(text), {
    signal: new AbortController().signal,
    onBytes: () => {},
  });
async function* content(text: string): AsyncGenerator<Uint8Array> {
  for (const piece of text.match(/.{1,3}/gs) ?? []) yield Buffer.from(piece);
}

test('a file that comes with fewer or more bytes than the manifest says is not saved', async () => {
  await expect(save('{}\n{}')).rejects.toThrow(
    'came with 5 bytes, but the manifest says 6',
  );
  await expect(save('{}\n{}\n{')).rejects.toThrow('came with 7 bytes');
  expect(await readdir(folder)).toEqual([]);
  await save('{}\n{}\n');
  expect(await readFile(join(folder, FILE.name), 'utf8')).toBe('{}\n{}\n');
});

test('a file counts as complete only with all of its bytes', async () => {
  expect(await isComplete(folder, FILE)).toBe(false);
  await writeFile(join(folder, FILE.name), '{}\n');
  expect(await isComplete(folder, FILE)).toBe(false);
  await writeFile(join(folder, FILE.name), '{}\n{}\n');
  expect(await isComplete(folder, FILE)).toBe(true);
  // An exchange of 0.1.0 gives no size.
  expect(await isComplete(folder, { ...FILE, sizeBytes: undefined })).toBe(
    true,
  );
});

test('a folder takes the files of one export, also when the exchange has another address', async () => {
  await prepareExportFolder(folder);
  await openExportFolder(folder, manifest());
  await openExportFolder(
    folder,
    manifest(undefined, `https://elsewhere/y/${FILE.name}`),
  );
  await expect(
    openExportFolder(folder, manifest('2026-06-01T12:00:00.000Z')),
  ).rejects.toThrow('contains another export');
  await expect(prepareExportFolder(folder)).rejects.toThrow(
    'contains another export',
  );
  await rm(join(folder, 'manifest.json'));
  await save('{}\n{}\n');
  await expect(openExportFolder(folder, manifest())).rejects.toThrow(
    'contains another export',
  );
});

test.each([
  'http://exchange/..',
  'http://exchange/.profile',
  'http://exchange/x/manifest.json',
  'http://exchange/a%2Fb',
])('a manifest cannot name a file outside of the folder: %s', (url) => {
  expect(() => manifestFiles(manifest(undefined, url))).toThrow(
    'cannot be saved',
  );
});
