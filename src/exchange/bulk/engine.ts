import type { BulkCounts } from '../../contract/bulk-create-workflow.ts';
import type { BlobRef, BlobStore } from '../blobs/blob-store.ts';
import type { Store } from '../store/database.ts';
import { checkUpload } from './check-upload.ts';
import { joinResult } from './join-result.ts';
import { processChunks } from './process-chunks.ts';

export interface BulkEngineDeps {
  store: Store;
  blobs: BlobStore;
  /** ID_HMAC_KEY */
  hmacKey: string;
  /** Rows of a chunk; default 2,000. Tests take fewer. */
  chunkRows?: number;
}

export interface StepOptions {
  /** Ends the step at the next safe place; it rejects with the signal's reason, and may be called again. */
  signal?: AbortSignal;
  /** Called now and then while bytes flow. */
  heartbeat?: () => void;
}

export interface ProcessOptions {
  signal?: AbortSignal;
  /** Take no further chunk after this moment (milliseconds since the epoch). */
  untilMs?: number;
  maxChunks?: number;
  /** After each committed chunk: the request's counts so far. */
  onChunk?: (counts: BulkCounts) => void;
}

export interface ProcessOutcome {
  /** Every chunk is committed. */
  done: boolean;
  counts: BulkCounts;
  /** Why it ended early: the request's row says paused, or it is no longer processing. */
  stopped?: 'paused' | 'ended';
}

/** Turns the upload of a bulk request into patients. Each step may run again after a kill at any place, and twice at once. */
export interface BulkEngine {
  /**
   * The first pass over the request's `upload`. When it is good, the layout, the number of rows and the chunks are
   * written in one transaction; when it is not, nothing is, and the caller ends the request with the reason.
   */
  check(
    accountId: string,
    requestId: string,
    options?: StepOptions,
  ): Promise<{ kind: 'ok'; rows: number } | { kind: 'refused'; reason: string }>;
  /** Handles the next unfinished chunks in the order of the file, each committed on its own. Needs status processing. */
  processChunks(accountId: string, requestId: string, options?: ProcessOptions): Promise<ProcessOutcome>;
  /**
   * Joins the parts to the result CSV, sets it as the request's `result` and deletes the parts. Called again it
   * answers the same result. The request's end (status, event) is left to the caller.
   */
  join(accountId: string, requestId: string, options?: StepOptions): Promise<BlobRef>;
}

export function createBulkEngine(deps: BulkEngineDeps): BulkEngine {
  return {
    check: (accountId, requestId, options = {}) => checkUpload(deps, accountId, requestId, options),
    processChunks: (accountId, requestId, options = {}) => processChunks(deps, accountId, requestId, options),
    join: (accountId, requestId, options = {}) => joinResult(deps, accountId, requestId, options),
  };
}
