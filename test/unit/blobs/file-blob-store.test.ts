import {
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { openBlobStore } from '../../../src/shared/blobs/open-blob-store.ts';
import { testBlobStore } from '../../support/blob-store-contract.ts';
import { testKeyRing } from '../../support/test-keys.ts';

const folder = await mkdtemp(join(tmpdir(), 'blobs-'));
const address = pathToFileURL(folder).href;
const store = await openBlobStore(address, testKeyRing());
afterAll(() => rm(folder, { recursive: true, force: true }));

const filesBelow = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
const fileOf = async (ref: string) => {
  const found = (await filesBelow(folder)).find((path) =>
    path.endsWith(ref.split('/')[1] ?? '?'),
  );
  if (found === undefined) throw new Error(`no file of ${ref}`);
  return found;
};

describe('file blob store', () => {
  testBlobStore({
    open: (keyRing) => openBlobStore(address, keyRing),
    names: () => filesBelow(folder),
    readRaw: async (ref) => readFile(await fileOf(ref)),
    writeRaw: async (ref, bytes) => writeFile(await fileOf(ref), bytes),
    async age(...refs) {
      const longAgo = new Date('2026-01-01');
      for (const ref of refs) await utimes(await fileOf(ref), longAgo, longAgo);
    },
  });

  test.skipIf(process.platform !== 'linux')(
    'closes the file of a stream that is never read',
    async () => {
      const { ref } = await store.put(
        'document',
        Buffer.from('content'),
        'text/plain',
      );
      const path = await fileOf(ref);
      const isOpen = async () => {
        const open = await readdir('/proc/self/fd');
        const targets = await Promise.all(
          open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
        );
        return targets.includes(path);
      };
      const content = await store.get(ref);
      expect(await isOpen()).toBe(true);
      content.destroy();
      await expect.poll(isOpen).toBe(false);
    },
  );

  test('with compress=no, blobs are written as 0.1.0 reads them, and any store reads both', async () => {
    const plain = await openBlobStore(`${address}?compress=no`, testKeyRing());
    const content = Buffer.from('x'.repeat(10_000));
    for (const [writer, version] of [
      [plain, 1],
      [store, 2],
    ] as const) {
      const { ref } = await writer.put('document', content, 'text/plain');
      expect((await readFile(await fileOf(ref)))[0]).toBe(version);
      for (const reader of [plain, store])
        expect((await reader.read(ref)).equals(content)).toBe(true);
    }
    await expect(
      openBlobStore(`${address}?compress=yes`, testKeyRing()),
    ).rejects.toThrow('compress=no');
  });

  test.each([
    's3:///prefix',
    'https://x.example/',
    'file://relative/folder',
    'nonsense',
  ])('refuses BLOB_STORE=%s and says what it takes', async (address) => {
    await expect(openBlobStore(address, testKeyRing())).rejects.toThrow(
      /BLOB_STORE: .*file:\/\/\/a\/folder/,
    );
  });
});
