import { randomBytes } from 'node:crypto';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { runAdmin } from '../../../src/exchange/operations/admin/program.ts';
import type { BlobStore } from '../../../src/shared/blobs/blob-store.ts';
import {
  type BlobCopy,
  copyBlobs,
} from '../../../src/shared/blobs/copy-blobs.ts';
import type { SealedStorage } from '../../../src/shared/blobs/encrypted-blob-store.ts';
import {
  openFileBlobStore,
  openFolder,
} from '../../../src/shared/blobs/file-blob-store.ts';
import { makeTestFolder } from '../../support/test-folder.ts';
import { testKeyRing } from '../../support/test-keys.ts';

interface Place {
  folder: string;
  store: BlobStore;
  sealed: SealedStorage;
}

async function place(): Promise<Place> {
  const folder = await makeTestFolder();
  return {
    folder,
    store: await openFileBlobStore(folder, testKeyRing()),
    sealed: await openFolder(folder),
  };
}
const fileOf = ({ folder }: Place, ref: string) => {
  const [kind = '', name = ''] = ref.split('/');
  return join(folder, kind, name.slice(0, 2), name);
};
const contents = ['one', 'two', randomBytes(210_000).toString('hex')];
const fill = async ({ store }: Place) =>
  Promise.all(
    contents.map(
      async (text) =>
        (await store.put('document', Buffer.from(text), 'text/plain')).ref,
    ),
  );
const copy = (from: Place, to: Place, options: Partial<BlobCopy> = {}) =>
  copyBlobs({
    from: from.sealed,
    to: to.sealed,
    isDryRun: false,
    comparesContent: false,
    onPart: () => undefined,
    ...options,
  });
const readAll = ({ store }: Place, refs: readonly string[]) =>
  Promise.all(refs.map(async (ref) => (await store.read(ref)).toString()));

test('every blob is readable in the other store, under its name; a second run copies nothing', async () => {
  const from = await place();
  const to = await place();
  const refs = await fill(from);
  const first = await copy(from, to);
  expect(first).toMatchObject({
    copied: 3,
    present: 0,
    different: 0,
    failed: 0,
  });
  expect(first.copiedBytes).toBeGreaterThan(200_000);
  expect(await readAll(to, refs)).toEqual(contents);
  expect(await copy(from, to)).toMatchObject({ copied: 0, present: 3 });
});

test('a dry run writes nothing', async () => {
  const from = await place();
  const to = await place();
  const [ref = ''] = await fill(from);
  expect(await copy(from, to, { isDryRun: true })).toMatchObject({ copied: 3 });
  await expect(to.store.read(ref)).rejects.toThrow('There is no blob');
});

test('what a killed copy left is completed', async () => {
  const from = await place();
  const to = await place();
  const refs = await fill(from);
  await copy(from, to);
  for (const [index, sizeBytes] of [0, 10, 100_000].entries())
    await truncate(fileOf(to, refs[index] ?? ''), sizeBytes);
  expect(await copy(from, to)).toMatchObject({ copied: 3, different: 0 });
  expect(await readAll(to, refs)).toEqual(contents);
});

test('a blob with another content is reported and never replaced, also when the original is the damaged one', async () => {
  const from = await place();
  const to = await place();
  const [damagedHere = '', damagedThere = '', changedThere = ''] =
    await fill(from);
  await copy(from, to);
  await truncate(fileOf(from, damagedHere), 5);
  await writeFile(fileOf(to, damagedThere), randomBytes(7));
  await writeFile(fileOf(to, changedThere), randomBytes(200_000));
  const report = await copy(from, to);
  expect(report).toMatchObject({ copied: 0, different: 3 });
  expect(report.differentBlobs.toSorted()).toEqual(
    [damagedHere, damagedThere, changedThere].toSorted(),
  );
  expect((await to.store.read(damagedHere)).toString()).toBe('one');
});

test('a change that leaves the size is found when the content is compared', async () => {
  const from = await place();
  const to = await place();
  const refs = await fill(from);
  await copy(from, to);
  const [ref = ''] = refs;
  const sizeBytes =
    (await to.sealed.withSource(ref, async (source) => source.sizeBytes)) ?? 0;
  await writeFile(fileOf(to, ref), Buffer.alloc(sizeBytes));
  expect(await copy(from, to)).toMatchObject({ present: 3, different: 0 });
  expect(await copy(from, to, { comparesContent: true })).toMatchObject({
    present: 2,
    different: 1,
    differentBlobs: [ref],
  });
});

test('a blob that is deleted while the copy runs is no failure', async () => {
  const from = await place();
  const to = await place();
  await fill(from);
  const vanishing: SealedStorage = {
    ...from.sealed,
    async *list(kind, digits) {
      for await (const blob of from.sealed.list(kind, digits)) {
        await from.sealed.delete(blob.ref);
        yield blob;
      }
    },
  };
  expect(await copy(from, to, { from: vanishing })).toMatchObject({
    deletedMeanwhile: 3,
    failed: 0,
    copied: 0,
  });
});

test('one blob that cannot be read does not stop the others, and a store that cannot be read does', async () => {
  const from = await place();
  const to = await place();
  const [bad = ''] = await fill(from);
  const faulty = (isBad: (ref: string) => boolean): SealedStorage => ({
    ...from.sealed,
    read: (ref) =>
      isBad(ref)
        ? Promise.reject(new Error('EIO: disk error'))
        : from.sealed.read(ref),
  });
  expect(
    await copy(from, to, { from: faulty((ref) => ref === bad) }),
  ).toMatchObject({
    copied: 2,
    failed: 1,
    failedBlobs: [{ ref: bad, reason: 'EIO: disk error' }],
  });
  for (let round = 0; round < 10; round++) await fill(from);
  await expect(copy(from, to, { from: faulty(() => true) })).rejects.toThrow(
    /^Stopped after 21 failures, the last one: EIO: disk error\./,
  );
});

test('a mistyped folder is refused, and no database is needed', async () => {
  const from = await place();
  const to = await place();
  await fill(from);
  const run = async (...argv: string[]) => {
    const out: string[] = [];
    const err: string[] = [];
    const exitCode = await runAdmin(['blobs', 'copy', ...argv], {
      write: (text) => void out.push(text),
      writeError: (text) => void err.push(text),
      open: () => Promise.reject(new Error('no database here')),
    });
    return { exitCode, out: out.join(''), err: err.join('') };
  };
  const here = pathToFileURL(from.folder).href;
  const there = pathToFileURL(to.folder).href;
  const missing = await run('--from', `${here}-typo`, '--to', there);
  expect(missing).toMatchObject({
    exitCode: 2,
    err: `--from: there is no folder ${here}-typo\n`,
  });
  const empty = await run('--from', there, '--to', here);
  expect(empty).toMatchObject({
    exitCode: 2,
    err: `There are no blobs at ${there}; check the address (--from)\n`,
  });
  const done = await run('--from', here, '--to', there, '--verify');
  expect(done.out).toMatch(
    /^3 blobs \(0\.2 MB\) copied; 0 were there already, with the same content\.\n$/,
  );
  expect(done).toMatchObject({ exitCode: 0 });
});
