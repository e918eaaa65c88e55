import type { BlobRef } from '../../shared/blobs/blob-store.ts';
import { checkUpload } from './check-upload.ts';
import type {
  BulkEngineDeps,
  CheckOutcome,
  ProcessOptions,
  ProcessOutcome,
  StepOptions,
} from './engine-steps.ts';
import { joinResult } from './join-result.ts';
import { processChunks } from './process-chunks.ts';

/** Turns the upload of a bulk request into patients. Each step may run again after a kill at any place, and twice at once. */
export interface BulkEngine {
  /**
   * The first pass over the request's `upload`. When it is good, the layout, the number of rows and the chunks are
   * written in one transaction; when it is not, nothing is, and the caller ends the request with the reason.
   */
  check(accountId: string, requestId: string, options?: StepOptions): Promise<CheckOutcome>;
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
