import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { KeyRing } from '../../lib/key-ring.ts';
import { BLOB_KINDS, type BlobContent, type BlobKind, type BlobRef, type BlobStore } from './blob-store.ts';
import { decryptChunks, decryptRange, encryptChunks } from './chunked-encryption.ts';
import { asOutage, reporting } from './outage.ts';
import type { SealedStorage } from './sealed-storage.ts';

/** Encrypts on the way in and decrypts on the way out, so that the storage never sees content. */
export function encryptedBlobStore(storage: SealedStorage, keyRing: KeyRing): BlobStore {
  const get = async (ref: string): Promise<Readable> => {
    const sealed = await reached(storage.read(ref));
    const content = Readable.from(decryptChunks(reporting(sealed), keyRing, ref), { objectMode: false });
    // A generator that was never started does not close its input, so close it here.
    return content.once('close', () => sealed.destroy());
  };
  return {
    put,
    get,
    read: async (ref) => buffer(await get(ref)),
    getRange: (ref, start, end) =>
      reached(storage.withSource(ref, (source) => decryptRange(source, keyRing, ref, start, end))),
    delete: (ref) => reached(storage.delete(ref)),
    deleteWrittenBefore: (kind, before) => reached(storage.deleteWrittenBefore(kind, before)),
    async *list(digits) {
      for (const kind of BLOB_KINDS) yield* reporting(storage.list(kind, digits));
    },
  };

  async function put(kind: BlobKind, content: BlobContent, contentType: string): Promise<BlobRef> {
    const ref = `${kind}/${randomBytes(16).toString('hex')}`;
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const plain = content instanceof Uint8Array ? [content] : content;
    const failure: { ofContent?: unknown } = {};
    const measured = tap(plain, failure, (part) => {
      hash.update(part);
      sizeBytes += part.length;
    });
    try {
      await storage.write(ref, encryptChunks(measured, keyRing, ref));
    } catch (error) {
      // A sender that broke off is no outage of the storage.
      throw 'ofContent' in failure ? failure.ofContent : asOutage(error);
    }
    return { ref, sha256: hash.digest('hex'), sizeBytes, contentType };
  }
}

const reached = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw asOutage(error);
  });

async function* tap(
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  failure: { ofContent?: unknown },
  see: (part: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const part of content) {
      see(part);
      yield part;
    }
  } catch (error) {
    failure.ofContent = error;
    throw error;
  }
}
