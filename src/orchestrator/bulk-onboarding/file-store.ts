import type { Readable } from 'node:stream';
import type { FileRef } from '../../contract/bulk-onboarding.ts';

/** The kinds of files; the kind is part of a file's reference. */
export const FILE_KINDS = ['upload', 'result'] as const;
export type OnboardingFileKind = (typeof FILE_KINDS)[number];

/**
 * Stores files that are too large for Temporal: encrypted, in a place that
 * starters and workers share. The entry points choose the implementation.
 */
export interface FileStore {
  /**
   * Resolves when the file is durably stored. Rejects when `content` fails, and
   * leaves no file behind.
   */
  put(
    kind: OnboardingFileKind,
    content: AsyncIterable<Uint8Array>,
    contentType: string,
  ): Promise<FileRef>;
  /**
   * Streams the content in bounded memory. Throws when the file does not exist;
   * the stream fails if it is damaged.
   */
  get(ref: string): Promise<Readable>;
  /**
   * Returns the bytes from `start` (inclusive) to `end` (exclusive). Fails like
   * `get`.
   */
  getRange(ref: string, start: number, end: number): Promise<Uint8Array>;
  /** Deletes the file. Does nothing if it does not exist. */
  delete(ref: string): Promise<void>;
  /** Deletes all files of a kind that were written before the given time. */
  deleteWrittenBefore(kind: OnboardingFileKind, before: Date): Promise<unknown>;
}
