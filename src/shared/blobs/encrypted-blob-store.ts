import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { brotliCompressSync, constants } from 'node:zlib';
import type { KeyRing } from '../../lib/key-ring.ts';
import {
  BLOB_KINDS,
  type BlobContent,
  type BlobKind,
  BlobNotFoundError,
  type BlobRef,
  type BlobStore,
  BlobStoreUnavailableError,
  type ListedBlob,
} from './blob-store.ts';
import {
  decryptChunks,
  decryptRange,
  type EncryptedSource,
  encryptChunks,
} from './chunked-encryption.ts';

/**
 * Where the encrypted bytes of blobs are: a folder or a bucket. It knows
 * neither keys nor content.
 */
export interface SealedStorage {
  /**
   * Resolves when the bytes are durably stored. Never replaces a blob. Rejects
   * when `sealed` fails, and leaves nothing readable.
   */
  write(ref: string, sealed: AsyncIterable<Buffer>): Promise<void>;
  /** Throws BlobNotFoundError. The stream fails if it is cut before its end. */
  read(ref: string): Promise<Readable>;
  /**
   * Opens a blob for random access while `use` runs. Throws BlobNotFoundError.
   */
  withSource<T>(
    ref: string,
    use: (source: EncryptedSource) => Promise<T>,
  ): Promise<T>;
  /** Does nothing if there is no such blob. */
  delete(ref: string): Promise<void>;
  /**
   * Deletes what was written before the given time under a kind, and returns
   * how many.
   */
  deleteWrittenBefore(kind: string, before: Date): Promise<number>;
  /** The blobs of a kind whose names begin with two hex digits. */
  list(kind: string, digits: string): AsyncIterable<ListedBlob>;
}

/**
 * Encrypts on the way in and decrypts on the way out, so that the storage never
 * sees content. Content that is given as a whole (pages, documents, messages)
 * is compressed first; streams (uploads, results), of which ranges are read,
 * are not.
 */
export function encryptedBlobStore(
  storage: SealedStorage,
  keyRing: KeyRing,
  { compresses = true }: { compresses?: boolean } = {},
): BlobStore {
  const get = async (ref: string): Promise<Readable> => {
    const sealed = await reached(storage.read(ref));
    const content = Readable.from(
      decryptChunks(reporting(sealed), keyRing, ref),
      { objectMode: false },
    );
    // A generator that was never started does not close its input, so close it
    // here.
    return content.once('close', () => sealed.destroy());
  };
  return {
    put,
    get,
    read: async (ref) => buffer(await get(ref)),
    getRange: (ref, start, end) =>
      reached(
        storage.withSource(ref, (source) =>
          decryptRange(source, keyRing, ref, start, end),
        ),
      ),
    has: (ref) =>
      reached(
        storage.withSource(ref, async ({ sizeBytes }) => sizeBytes > 0),
      ).catch((error: unknown) => {
        if (error instanceof BlobNotFoundError) return false;
        throw error;
      }),
    delete: (ref) => reached(storage.delete(ref)),
    deleteWrittenBefore: (kind, before) =>
      reached(storage.deleteWrittenBefore(kind, before)),
    async *list(digits) {
      for (const kind of BLOB_KINDS)
        yield* reporting(storage.list(kind, digits));
    },
  };

  async function put(
    kind: BlobKind,
    content: BlobContent,
    contentType: string,
  ): Promise<BlobRef> {
    const ref = `${kind}/${randomBytes(16).toString('hex')}`;
    if (content instanceof Uint8Array) {
      const compressed = compresses ? compressedIfSmaller(content) : undefined;
      const isCompressed = compressed !== undefined;
      const sealed = encryptChunks([compressed ?? content], keyRing, ref, {
        isCompressed,
      });
      await reached(storage.write(ref, sealed));
      const sha256 = createHash('sha256').update(content).digest('hex');
      return { ref, sha256, sizeBytes: content.length, contentType };
    }
    const hash = createHash('sha256');
    let sizeBytes = 0;
    const failure: { ofContent?: unknown } = {};
    const measured = tap(content, failure, (part) => {
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

/**
 * At this quality Brotli takes some 1.5 ms for a megabyte of JSON, less than
 * encrypting and writing what it saves.
 */
const BROTLI_QUALITY = 1;

function compressedIfSmaller(content: Uint8Array): Buffer | undefined {
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
  const params = {
    [BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  const compressed = brotliCompressSync(content, { params });
  return compressed.length < content.length ? compressed : undefined;
}

const reached = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => {
    throw asOutage(error);
  });

async function* tap(
  content: AsyncIterable<Uint8Array>,
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

/** No connection, or it broke. */
const NETWORK =
  /^(ECONN(?:REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH)$/;
/**
 * The disk is full, read-only, broken or no longer mounted, or this process has
 * too many files open.
 */
const DISK = /^(ENOSPC|EDQUOT|EROFS|EIO|ESTALE|ENOTCONN|EMFILE|ENFILE)$/;

/**
 * Returns BlobStoreUnavailableError if the error means that the storage is away
 * or cannot work now; else the error itself.
 */
const asOutage = (error: unknown): unknown =>
  isOutage(error) ? new BlobStoreUnavailableError(error) : error;

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof BlobStoreUnavailableError)
    return false;
  const { code, $metadata } = error as {
    code?: unknown;
    $metadata?: { httpStatusCode?: number };
  };
  const status = $metadata?.httpStatusCode;
  // 429 and 503: it wants fewer requests. 409: another request for the same
  // object was under way.
  if (status !== undefined)
    return status >= 500 || status === 429 || status === 409;
  return (
    error.name === 'TimeoutError' ||
    (typeof code === 'string' && (NETWORK.test(code) || DISK.test(code)))
  );
}

/**
 * Passes on what a storage delivers; its outages become
 * BlobStoreUnavailableError.
 */
async function* reporting<T>(delivered: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* delivered;
  } catch (error) {
    throw asOutage(error);
  }
}
