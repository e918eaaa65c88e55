import type { Readable } from 'node:stream';

/**
 * The kinds of blobs, which determine how long they are kept. The kind is part
 * of a blob's name.
 */
export const BLOB_KINDS = [
  'source-answer',
  'document',
  'upload',
  'result',
  'consolidated',
  'notification',
  'export',
] as const;
export type BlobKind = (typeof BLOB_KINDS)[number];

/** What PostgreSQL and Temporal store instead of the content. */
export interface BlobRef {
  /**
   * `<kind>/<32 hex digits>`; random, so it reveals nothing and cannot be
   * guessed.
   */
  ref: string;
  /** Hex digest of the plain content. */
  sha256: string;
  /** Size of the plain content. */
  sizeBytes: number;
  contentType: string;
}

export type BlobContent = Uint8Array | AsyncIterable<Uint8Array>;

/**
 * Stores large content, encrypted. A blob is either complete or absent, and
 * never changes. Everything throws BlobStoreUnavailableError while the storage
 * is away, and in bounded time.
 */
export interface BlobStore {
  /**
   * Resolves when the blob is durably stored. Rejects when `content` fails, and
   * leaves no blob behind.
   */
  put(
    kind: BlobKind,
    content: BlobContent,
    contentType: string,
  ): Promise<BlobRef>;
  /**
   * Streams the content in bounded memory. Throws BlobNotFoundError; the stream
   * fails if the blob is damaged.
   */
  get(ref: string): Promise<Readable>;
  /**
   * Returns the whole content, for blobs known to be small. Fails like `get`.
   */
  read(ref: string): Promise<Buffer>;
  /**
   * Returns the bytes `[start, end)` of the plain content without reading the
   * rest; fewer if the content ends before. For ranges known to be small. Fails
   * like `get`.
   */
  getRange(ref: string, start: number, end: number): Promise<Buffer>;
  /** Whether the blob is there; not, whether it can be read. */
  has(ref: string): Promise<boolean>;
  /** Deletes a blob. Does nothing if it does not exist. */
  delete(ref: string): Promise<void>;
  /**
   * Deletes all blobs of a kind written before the given time, and returns how
   * many. Only for stores with a retention.
   */
  deleteWrittenBefore(kind: BlobKind, before: Date): Promise<number>;
  /**
   * Lists the blobs whose names begin with two hex digits (about 1/256 of all),
   * of all kinds, in no particular order.
   */
  list(digits: string): AsyncIterable<ListedBlob>;
}

export interface ListedBlob {
  ref: string;
  /** When the last byte was written. */
  writtenAt: Date;
  /** Size of the encrypted content. */
  sizeBytes: number;
}

export class BlobNotFoundError extends Error {
  override readonly name = 'BlobNotFoundError';
  constructor(ref: string) {
    super(`There is no blob ${isBlobRef(ref) ? ref : 'of this name'}`);
  }
}

/**
 * The storage is away, full or overloaded. Nothing was stored under a name that
 * the caller knows; it may try again later.
 */
export class BlobStoreUnavailableError extends Error {
  override readonly name = 'BlobStoreUnavailableError';
  constructor(cause: unknown) {
    super('The blob store cannot be used now', { cause });
  }
}

const REF = /^([a-z-]{1,32})\/([0-9a-f]{32})$/;

export const isBlobRef = (ref: string): boolean => REF.test(ref);

/**
 * Splits a reference. Throws BlobNotFoundError for anything else, which
 * prevents path traversal.
 */
export function parseBlobRef(ref: string): { kind: string; name: string } {
  const match = REF.exec(ref);
  if (match?.[1] === undefined || match[2] === undefined)
    throw new BlobNotFoundError(ref);
  return { kind: match[1], name: match[2] };
}
