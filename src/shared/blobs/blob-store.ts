import type { Readable } from 'node:stream';

/** What a blob is, and so how long it is kept. Stands in its name; says nothing of whom it is about. */
export const BLOB_KINDS = [
  'source-answer',
  'document',
  'upload',
  'result',
  'consolidated',
  'notification',
] as const;
export type BlobKind = (typeof BLOB_KINDS)[number];

/** What PostgreSQL and Temporal hold instead of the bytes. */
export interface BlobRef {
  /** `<kind>/<32 hex digits>`; random, so it tells nothing and cannot be guessed. */
  ref: string;
  /** Hex, of the plain bytes. */
  sha256: string;
  /** Of the plain bytes. */
  sizeBytes: number;
  contentType: string;
}

export type BlobContent = Uint8Array | AsyncIterable<Uint8Array>;

/** Keeps large content, encrypted. A blob is whole or not there at all, and never changes once written. */
export interface BlobStore {
  /** Resolves when the blob is safe on disk. When `content` fails, so does this, and nothing is left behind. */
  put(kind: BlobKind, content: BlobContent, contentType: string): Promise<BlobRef>;
  /** The content in bounded memory. Throws BlobNotFoundError; the stream fails when the blob is damaged. */
  get(ref: string): Promise<Readable>;
  /** The whole content, for blobs known to be small. Errors as `get`. */
  read(ref: string): Promise<Buffer>;
  /**
   * The bytes `[start, end)` of the plain content, without reading the rest; fewer where the content ends before. For
   * ranges known to be small. Errors as `get`.
   */
  getRange(ref: string, start: number, end: number): Promise<Buffer>;
  /** No error when it is gone already. */
  delete(ref: string): Promise<void>;
  /** Deletes all blobs of a kind that were written before then; answers how many. For stores with a retention only. */
  deleteWrittenBefore(kind: BlobKind, before: Date): Promise<number>;
  /** Blobs of all kinds, in no order: those whose names begin with these two hex digits, some 256th of all. */
  list(digits: string): AsyncIterable<ListedBlob>;
}

export interface ListedBlob {
  ref: string;
  /** When its last byte was written. */
  writtenAt: Date;
}

export class BlobNotFoundError extends Error {
  override readonly name = 'BlobNotFoundError';
  constructor(ref: string) {
    super(`There is no blob ${isBlobRef(ref) ? ref : 'of this name'}`);
  }
}

const REF = /^([a-z-]{1,32})\/([0-9a-f]{32})$/;

export const isBlobRef = (ref: string): boolean => REF.test(ref);

/** Throws BlobNotFoundError for anything that is not exactly a reference, so no path can be smuggled in. */
export function parseBlobRef(ref: string): { kind: string; name: string } {
  const match = REF.exec(ref);
  if (match?.[1] === undefined || match[2] === undefined) throw new BlobNotFoundError(ref);
  return { kind: match[1], name: match[2] };
}
