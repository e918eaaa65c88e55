import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
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

/** Turns the upload of a bulk create into patients. Each step may be killed at any point and repeated, and may run twice at once. */
export interface BulkEngine {
  /**
   * Checks the format of the whole upload. If it is valid, layout, number of rows and chunks are written in one transaction;
   * if not, nothing is written, and the caller fails the request with the reason.
   */
  check(accountId: string, requestId: string, options?: StepOptions): Promise<CheckOutcome>;
  /** Processes the next open chunks in file order, one transaction each. Does nothing unless the status is processing. */
  processChunks(accountId: string, requestId: string, options?: ProcessOptions): Promise<ProcessOutcome>;
  /**
   * Joins the parts to the result CSV, sets it as the request's `result` and deletes the parts. A repeated call returns the
   * same result. Ending the request (status, event) is left to the caller.
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
