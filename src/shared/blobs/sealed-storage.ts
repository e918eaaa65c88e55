import type { Readable } from 'node:stream';
import type { ListedBlob } from './blob-store.ts';
import type { EncryptedSource } from './chunked-encryption.ts';

/** Where the encrypted bytes of blobs are: a folder or a bucket. It knows neither keys nor content. */
export interface SealedStorage {
  /** Resolves when the bytes are durably stored. Never replaces a blob. Rejects when `sealed` fails, and leaves nothing readable. */
  write(ref: string, sealed: AsyncIterable<Buffer>): Promise<void>;
  /** Throws BlobNotFoundError. The stream fails if it is cut before its end. */
  read(ref: string): Promise<Readable>;
  /** Opens a blob for random access while `use` runs. Throws BlobNotFoundError. */
  withSource<T>(ref: string, use: (source: EncryptedSource) => Promise<T>): Promise<T>;
  /** Does nothing if there is no such blob. */
  delete(ref: string): Promise<void>;
  /** Deletes what was written before the given time under a kind, and returns how many. */
  deleteWrittenBefore(kind: string, before: Date): Promise<number>;
  /** The blobs of a kind whose names begin with two hex digits. */
  list(kind: string, digits: string): AsyncIterable<ListedBlob>;
}
