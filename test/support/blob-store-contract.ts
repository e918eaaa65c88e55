import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mapAtMost } from '../../src/lib/at-most.ts';
import {
  DecryptionError,
  type KeyRing,
  parseKeyRing,
} from '../../src/lib/key-ring.ts';
import {
  BlobNotFoundError,
  type BlobStore,
} from '../../src/shared/blobs/blob-store.ts';
import { property } from './property.ts';
import { TEST_DATA_KEYS, testKeyRing } from './test-keys.ts';

/** A place of blobs, and how a test reaches behind the store's back. */
export interface BlobPlace {
  open(keyRing: KeyRing): Promise<BlobStore>;
  /** Names of everything that lies there. */
  names(): Promise<string[]>;
  readRaw(ref: string): Promise<Buffer>;
  writeRaw(ref: string, bytes: Buffer): Promise<void>;
  /** Makes blobs older than all that are written later. */
  age(...refs: string[]): Promise<void>;
}

const CHUNK = 64 * 1024;

/** The promises that every blob store keeps, wherever its blobs lie. */
export function testBlobStore(place: BlobPlace): void {
  let opened: Promise<BlobStore> | undefined;
  const open = () => {
    opened ??= place.open(testKeyRing());
    return opened;
  };

  test.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 5])(
    'gives back %i bytes',
    async (size) => {
      const store = await open();
      const content = randomBytes(size);
      const blob = await store.put(
        'document',
        content,
        'application/octet-stream',
      );
      expect(blob).toMatchObject({
        sizeBytes: size,
        sha256: createHash('sha256').update(content).digest('hex'),
        contentType: 'application/octet-stream',
      });
      expect((await store.read(blob.ref)).equals(content)).toBe(true);
    },
  );

  test('what is given as a whole takes less than its size, and any range of it comes back', async () => {
    const store = await open();
    const content = Buffer.from(
      JSON.stringify(Array.from({ length: 9_000 }, (_, index) => ({ index }))),
    );
    const { ref, sizeBytes, sha256 } = await store.put(
      'source-answer',
      content,
      'application/fhir+json',
    );
    expect({ sizeBytes, sha256 }).toEqual({
      sizeBytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    });
    expect((await place.readRaw(ref)).length).toBeLessThan(content.length / 2);
    expect((await store.read(ref)).equals(content)).toBe(true);
    const at = fc.nat(content.length + 10);
    await fc.assert(
      fc.asyncProperty(at, at, async (start, end) => {
        const range = await store.getRange(ref, start, end);
        expect(
          range.equals(content.subarray(start, Math.max(start, end))),
        ).toBe(true);
      }),
      { numRuns: 20 },
    );
  });

  test('a blob that says otherwise than it was written whether it is compressed is refused', async () => {
    const store = await open();
    for (const content of [Buffer.from('a'.repeat(5_000)), randomBytes(100)]) {
      const { ref } = await store.put('document', content, 'text/plain');
      const bytes = await place.readRaw(ref);
      bytes.writeUInt8(bytes.readUInt8(0) === 1 ? 2 : 1, 0);
      await place.writeRaw(ref, bytes);
      await expect(store.read(ref)).rejects.toThrow(DecryptionError);
      await expect(store.getRange(ref, 0, 10)).rejects.toThrow(DecryptionError);
    }
  });

  property([fc.array(fc.uint8Array({ maxLength: 90_000 }), { maxLength: 6 })], {
    numRuns: 20,
  })('a stream comes back whole, however it was cut', async (parts) => {
    const store = await open();
    const { ref } = await store.put('upload', Readable.from(parts), 'text/csv');
    expect((await store.read(ref)).equals(Buffer.concat(parts))).toBe(true);
  });

  test('any range comes back as from the whole', async () => {
    const store = await open();
    for (const size of [0, 1, CHUNK, 3 * CHUNK + 5]) {
      const content = randomBytes(size);
      const { ref } = await store.put('upload', content, 'text/csv');
      const place = fc.oneof(
        fc.nat(size + 10),
        fc
          .constantFrom(CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, size - 1, size)
          .filter((at) => at >= 0),
      );
      await fc.assert(
        fc.asyncProperty(place, place, async (start, end) => {
          const range = await store.getRange(ref, start, end);
          expect(
            range.equals(content.subarray(start, Math.max(start, end))),
          ).toBe(true);
        }),
      );
    }
  });

  test('a range of a changed, cut off or exchanged blob is refused', async () => {
    const store = await open();
    const { ref } = await store.put(
      'upload',
      randomBytes(2 * CHUNK + 100),
      'text/csv',
    );
    const bytes = await place.readRaw(ref);
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
    // Cut at a chunk's end: the chunk that is the last one now was not written
    // as such.
    const cutOff = bytes.subarray(0, second + sealed);
    for (const content of [
      changed,
      swapped,
      cutOff,
      bytes.subarray(0, second + 10),
      bytes.subarray(0, 1),
    ]) {
      await place.writeRaw(ref, content);
      await expect(store.getRange(ref, CHUNK + 5, CHUNK + 9)).rejects.toThrow(
        DecryptionError,
      );
    }
    const other = await store.put('upload', randomBytes(3 * CHUNK), 'text/csv');
    await place.writeRaw(ref, await place.readRaw(other.ref));
    await expect(store.getRange(ref, 0, 10)).rejects.toThrow(DecryptionError);
    await store.delete(ref);
    await expect(store.getRange(ref, 0, 10)).rejects.toThrow(BlobNotFoundError);
  });

  test('neither the file nor its name tells what it holds', async () => {
    const store = await open();
    const { ref } = await store.put(
      'document',
      Buffer.from('Lieselotte Howe'),
      'text/plain',
    );
    expect(ref).toMatch(/^document\/[0-9a-f]{32}$/);
    expect((await place.readRaw(ref)).includes('Lieselotte')).toBe(false);
  });

  test.each([
    ['as it is', randomBytes(2 * CHUNK + 100)],
    ['compressed', Buffer.from(randomBytes(1.5 * CHUNK).toString('hex'))],
  ])(
    'a blob that was changed, cut off or put in place of another is refused: %s',
    async (_, written) => {
      const store = await open();
      const { ref } = await store.put('document', written, 'text/plain');
      const bytes = await place.readRaw(ref);
      const header = 2 + 'test-1'.length;
      const chunk = CHUNK + 28;
      const damaged = [
        bytes.subarray(0, 1),
        bytes.subarray(0, header + chunk),
        bytes.subarray(0, bytes.length - 1),
        Buffer.concat([
          bytes.subarray(0, header),
          bytes.subarray(header + chunk),
        ]),
        Buffer.concat([bytes, Buffer.from('x')]),
      ];
      for (const content of damaged) {
        await place.writeRaw(ref, content);
        await expect(store.read(ref)).rejects.toThrow(DecryptionError);
      }
      const other = await store.put(
        'document',
        Buffer.from('other'),
        'text/plain',
      );
      await place.writeRaw(ref, await place.readRaw(other.ref));
      await expect(store.read(ref)).rejects.toThrow(DecryptionError);
    },
  );

  test('a write that fails leaves nothing behind', async () => {
    const store = await open();
    const before = await place.names();
    const broken = (async function* () {
      yield randomBytes(100_000);
      throw new Error('the sender went away');
    })();
    await expect(store.put('upload', broken, 'text/csv')).rejects.toThrow(
      'went away',
    );
    expect(await place.names()).toEqual(before);
  });

  test('blobs from before a key rotation stay readable', async () => {
    const store = await open();
    const { ref } = await store.put('result', Buffer.from('old'), 'text/csv');
    const fresh = `fresh:${randomBytes(32).toString('base64')}`;
    const rotated = await place.open(
      parseKeyRing(`${fresh} ${TEST_DATA_KEYS}`),
    );
    expect((await rotated.read(ref)).toString()).toBe('old');
    const without = await place.open(parseKeyRing(fresh));
    await expect(without.read(ref)).rejects.toThrow('"test-1"');
  });

  test('the blobs of a kind that are too old go, and no others', async () => {
    const store = await open();
    const old = await store.put('notification', Buffer.of(1), 'text/csv');
    const other = await store.put('result', Buffer.of(1), 'text/csv');
    await place.age(old.ref, other.ref);
    const young = await store.put('notification', Buffer.of(1), 'text/csv');
    expect(
      await store.deleteWrittenBefore(
        'notification',
        await writtenAt(store, young.ref),
      ),
    ).toBe(1);
    await expect(store.read(old.ref)).rejects.toThrow(BlobNotFoundError);
    for (const { ref } of [young, other])
      expect(await store.read(ref)).toHaveLength(1);
    expect(await store.deleteWrittenBefore('consolidated', new Date())).toBe(0);
  });

  test('a part is listed with all kinds, and all parts are everything', async () => {
    const store = await open();
    const put = await Promise.all(
      (['upload', 'document', 'document'] as const).map((kind) =>
        store.put(kind, Buffer.of(1), 'text/csv'),
      ),
    );
    const listed = new Set<string>();
    const parts = Array.from({ length: 256 }, (_, part) =>
      part.toString(16).padStart(2, '0'),
    );
    await mapAtMost(parts, 8, async (digits) => {
      for await (const { ref } of store.list(digits)) {
        expect(ref.split('/')[1]?.startsWith(digits)).toBe(true);
        listed.add(ref);
      }
    });
    expect(listed.size).toBe((await place.names()).length);
    for (const { ref } of put) expect(listed.has(ref)).toBe(true);
  });

  test('what is gone is not found, and deleting it again is no error', async () => {
    const store = await open();
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
    const store = await open();
    await expect(store.get(ref)).rejects.toThrow(BlobNotFoundError);
    await expect(store.delete(ref)).rejects.toThrow(BlobNotFoundError);
  });
}

async function writtenAt(store: BlobStore, ref: string): Promise<Date> {
  for await (const blob of store.list(ref.split('/')[1]?.slice(0, 2) ?? ''))
    if (blob.ref === ref) return blob.writtenAt;
  throw new Error(`${ref} is not listed`);
}
