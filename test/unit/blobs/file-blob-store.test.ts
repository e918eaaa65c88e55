import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, readlink, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { fc, test as property } from '@fast-check/vitest';
import { afterAll, describe, expect, test } from 'vitest';
import { DecryptionError, parseKeyRing } from '../../../src/lib/key-ring.ts';
import { BlobNotFoundError } from '../../../src/shared/blobs/blob-store.ts';
import { openBlobStore } from '../../../src/shared/blobs/open-blob-store.ts';
import { TEST_DATA_KEYS, testKeyRing } from '../../support/test-keys.ts';

const folder = await mkdtemp(join(tmpdir(), 'blobs-'));
const store = await openBlobStore(pathToFileURL(folder).href, testKeyRing());
afterAll(() => rm(folder, { recursive: true, force: true }));

const filesBelow = async (path: string) =>
  (await readdir(path, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
const fileOf = async (ref: string) => {
  const found = (await filesBelow(folder)).find((path) => path.endsWith(ref.split('/')[1] ?? '?'));
  if (found === undefined) throw new Error(`no file of ${ref}`);
  return found;
};

describe('file blob store', () => {
  test.skipIf(process.platform !== 'linux')('closes the file of a stream that is never read', async () => {
    const { ref } = await store.put('document', Buffer.from('content'), 'text/plain');
    const path = await fileOf(ref);
    const isOpen = async () => {
      const open = await readdir('/proc/self/fd');
      const targets = await Promise.all(open.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
      return targets.includes(path);
    };
    const content = await store.get(ref);
    expect(await isOpen()).toBe(true);
    content.destroy();
    await expect.poll(isOpen).toBe(false);
  });

  const CHUNK = 64 * 1024;
  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 5])(
    'gives back %i bytes',
    async (size) => {
      const content = randomBytes(size);
      const blob = await store.put('document', content, 'application/octet-stream');
      expect(blob).toMatchObject({
        sizeBytes: size,
        sha256: createHash('sha256').update(content).digest('hex'),
        contentType: 'application/octet-stream',
      });
      expect((await store.read(blob.ref)).equals(content)).toBe(true);
    },
  );

  property.prop([fc.array(fc.uint8Array({ maxLength: 90_000 }), { maxLength: 6 })], { numRuns: 20 })(
    'a stream comes back whole, however it was cut',
    async (parts) => {
      const { ref } = await store.put('upload', Readable.from(parts), 'text/csv');
      expect((await store.read(ref)).equals(Buffer.concat(parts))).toBe(true);
    },
  );

  test('any range comes back as from the whole', async () => {
    for (const size of [0, 1, CHUNK, 3 * CHUNK + 5]) {
      const content = randomBytes(size);
      const { ref } = await store.put('upload', content, 'text/csv');
      const place = fc.oneof(
        fc.nat(size + 10),
        fc.constantFrom(CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, size - 1, size).filter((at) => at >= 0),
      );
      await fc.assert(
        fc.asyncProperty(place, place, async (start, end) => {
          const range = await store.getRange(ref, start, end);
          expect(range.equals(content.subarray(start, Math.max(start, end)))).toBe(true);
        }),
      );
    }
  });

  test('a range of a changed, cut off or exchanged blob is refused', async () => {
    const { ref } = await store.put('upload', randomBytes(2 * CHUNK + 100), 'text/csv');
    const path = await fileOf(ref);
    const bytes = await readFile(path);
    const header = 2 + 'test-1'.length;
    const sealed = CHUNK + 28;
    const second = header + sealed;
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(second + 5) ^ 1, second + 5);
    const swapped = Buffer.concat([
      bytes.subarray(0, header),
      bytes.subarray(second, second + sealed),
      bytes.subarray(header, second),
      bytes.subarray(second + sealed),
    ]);
    // Cut at a chunk's end: the chunk that is the last one now was not written as such.
    const cutOff = bytes.subarray(0, second + sealed);
    for (const content of [changed, swapped, cutOff, bytes.subarray(0, second + 10), bytes.subarray(0, 1)]) {
      await writeFile(path, content);
      await expect(store.getRange(ref, CHUNK + 5, CHUNK + 9)).rejects.toThrow(DecryptionError);
    }
    const other = await store.put('upload', randomBytes(3 * CHUNK), 'text/csv');
    await writeFile(path, await readFile(await fileOf(other.ref)));
    await expect(store.getRange(ref, 0, 10)).rejects.toThrow(DecryptionError);
    await store.delete(ref);
    await expect(store.getRange(ref, 0, 10)).rejects.toThrow(BlobNotFoundError);
  });

  test('neither the file nor its name tells what it holds', async () => {
    const { ref } = await store.put('document', Buffer.from('Lieselotte Howe'), 'text/plain');
    expect(ref).toMatch(/^document\/[0-9a-f]{32}$/);
    expect((await readFile(await fileOf(ref))).includes('Lieselotte')).toBe(false);
  });

  test('a blob that was changed, cut off or put in place of another is refused', async () => {
    const { ref } = await store.put('document', randomBytes(2 * CHUNK + 100), 'text/plain');
    const path = await fileOf(ref);
    const bytes = await readFile(path);
    const header = 2 + 'test-1'.length;
    const chunk = CHUNK + 28;
    const damaged = [
      bytes.subarray(0, 1),
      bytes.subarray(0, header + chunk),
      bytes.subarray(0, bytes.length - 1),
      Buffer.concat([bytes.subarray(0, header), bytes.subarray(header + chunk)]),
      Buffer.concat([bytes, Buffer.from('x')]),
    ];
    for (const content of damaged) {
      await writeFile(path, content);
      await expect(store.read(ref)).rejects.toThrow(DecryptionError);
    }
    const other = await store.put('document', Buffer.from('other'), 'text/plain');
    await writeFile(path, await readFile(await fileOf(other.ref)));
    await expect(store.read(ref)).rejects.toThrow(DecryptionError);
  });

  test('a write that fails leaves nothing behind', async () => {
    const before = await filesBelow(folder);
    const broken = (async function* () {
      yield randomBytes(100_000);
      throw new Error('the sender went away');
    })();
    await expect(store.put('upload', broken, 'text/csv')).rejects.toThrow('went away');
    expect(await filesBelow(folder)).toEqual(before);
  });

  test('blobs from before a key rotation stay readable', async () => {
    const { ref } = await store.put('result', Buffer.from('old'), 'text/csv');
    const fresh = `fresh:${randomBytes(32).toString('base64')}`;
    const rotated = await openBlobStore(
      pathToFileURL(folder).href,
      parseKeyRing(`${fresh} ${TEST_DATA_KEYS}`),
    );
    expect((await rotated.read(ref)).toString()).toBe('old');
    const without = await openBlobStore(pathToFileURL(folder).href, parseKeyRing(fresh));
    await expect(without.read(ref)).rejects.toThrow('"test-1"');
  });

  test('the blobs of a kind that are too old go, and no others', async () => {
    const [old, young, other] = await Promise.all(
      (['upload', 'upload', 'result'] as const).map((kind) => store.put(kind, Buffer.of(1), 'text/csv')),
    );
    const longAgo = new Date('2026-01-01');
    for (const blob of [old, other]) await utimes(await fileOf(blob?.ref ?? ''), longAgo, longAgo);
    expect(await store.deleteWrittenBefore('upload', new Date('2026-01-02'))).toBe(1);
    await expect(store.read(old?.ref ?? '')).rejects.toThrow(BlobNotFoundError);
    for (const blob of [young, other]) expect(await store.read(blob?.ref ?? '')).toHaveLength(1);
    expect(await store.deleteWrittenBefore('consolidated', new Date())).toBe(0);
  });

  test('a part is listed with all kinds, and all parts are everything', async () => {
    const put = await Promise.all(
      (['upload', 'document', 'document'] as const).map((kind) => store.put(kind, Buffer.of(1), 'text/csv')),
    );
    const longAgo = new Date('2026-01-01');
    await utimes(await fileOf(put[0]?.ref ?? ''), longAgo, longAgo);
    const listed = new Map<string, Date>();
    for (let part = 0; part < 256; part += 1) {
      const digits = part.toString(16).padStart(2, '0');
      for await (const { ref, writtenAt } of store.list(digits)) {
        expect(ref.split('/')[1]?.startsWith(digits)).toBe(true);
        listed.set(ref, writtenAt);
      }
    }
    expect(listed.size).toBe((await filesBelow(folder)).length);
    for (const { ref } of put) expect(listed.has(ref)).toBe(true);
    expect(listed.get(put[0]?.ref ?? '')).toEqual(longAgo);
  });

  test('what is gone is not found, and deleting it again is no error', async () => {
    const { ref } = await store.put('document', Buffer.from('x'), 'text/plain');
    await store.delete(ref);
    await store.delete(ref);
    await expect(store.get(ref)).rejects.toThrow(BlobNotFoundError);
  });

  test.each([
    '../../etc/passwd',
    'document/../../../etc/passwd',
    '/etc/passwd',
    'document/',
    `..${'/'}${'a'.repeat(32)}`,
    `document/${'a'.repeat(32)}/x`,
    `document\\${'a'.repeat(32)}`,
    `document/${'a'.repeat(32)}\n`,
  ])('no path can be smuggled in: %j', async (ref) => {
    await expect(store.get(ref)).rejects.toThrow(BlobNotFoundError);
    await expect(store.delete(ref)).rejects.toThrow(BlobNotFoundError);
  });

  test.each(['s3://bucket/prefix', 'https://x.example/', 'file://relative/folder', 'nonsense'])(
    'refuses BLOB_STORE=%s and says what it takes',
    async (address) => {
      await expect(openBlobStore(address, testKeyRing())).rejects.toThrow(
        /BLOB_STORE: .*file:\/\/\/a\/folder/,
      );
    },
  );
});
