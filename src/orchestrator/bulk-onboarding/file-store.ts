import type { Readable } from 'node:stream';
import type { FileRef } from '../../contract/bulk-onboarding.ts';

/** What a file is; stands in its reference. */
export const FILE_KINDS = ['upload', 'result'] as const;
export type FileKind = (typeof FILE_KINDS)[number];

/**
 * Where the caller's side keeps files too large for Temporal: encrypted, in a place that starters and workers share.
 * Entry points say which store that is; this half only asks for one of this shape.
 */
export interface FileStore {
  /** Resolves when the file is safe. When `content` fails, so does this, and nothing is left behind. */
  put(kind: FileKind, content: AsyncIterable<Uint8Array>, contentType: string): Promise<FileRef>;
  /** The content in bounded memory. Throws when there is no such file; the stream fails when it is damaged. */
  get(ref: string): Promise<Readable>;
  /** The bytes from `start` up to, not including, `end`. Errors as `get`. */
  getRange(ref: string, start: number, end: number): Promise<Uint8Array>;
  /** No error when it is gone already. */
  delete(ref: string): Promise<void>;
  /** Deletes all files of a kind that were written before then. */
  deleteWrittenBefore(kind: FileKind, before: Date): Promise<unknown>;
}
