import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { KeyRing } from '../../lib/key-ring.ts';
import { BLOB_KINDS, type BlobContent, type BlobKind, type BlobRef, type BlobStore } from './blob-store.ts';
import { decryptChunks, decryptRange, encryptChunks } from './chunked-encryption.ts';
import type { SealedStorage } from './sealed-storage.ts';

/** Encrypts on the way in and decrypts on the way out, so that the storage never sees content. */
export function encryptedBlobStore(storage: SealedStorage, keyRing: KeyRing): BlobStore {
  const get = async (ref: string): Promise<Readable> => {
    const sealed = await storage.read(ref);
    const content = Readable.from(decryptChunks(sealed, keyRing, ref), { objectMode: false });
    // A generator that was never started does not close its input, so close it here.
    return content.once('close', () => sealed.destroy());
  };
  return {
    put,
    get,
    read: async (ref) => buffer(await get(ref)),
    getRange: (ref, start, end) =>
      storage.withSource(ref, (source) => decryptRange(source, keyRing, ref, start, end)),
    delete: (ref) => storage.delete(ref),
    deleteWrittenBefore: (kind, before) => storage.deleteWrittenBefore(kind, before),
    async *list(digits) {
      for (const kind of BLOB_KINDS) yield* storage.list(kind, digits);
    },
  };

  async function put(kind: BlobKind, content: BlobContent, contentType: string): Promise<BlobRef> {
    const ref = `${kind}/${randomBytes(16).toString('hex')}`;
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const plain = content instanceof Uint8Array ? [content] : content;
    const measured = tap(plain, (part) => {
      hash.update(part);
      sizeBytes += part.length;
    });
    await storage.write(ref, encryptChunks(measured, keyRing, ref));
    return { ref, sha256: hash.digest('hex'), sizeBytes, contentType };
  }
}

async function* tap(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  see: (part: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const part of content) {
    see(part);
    yield part;
  }
}
