import type { BulkCounts } from './bulk-create.ts';

/** Identifies a bulk create in the input of its activities. */
export interface BulkStepInput {
  accountId: string;
  requestId: string;
}

/** State of a request's upload, read from the request's row. */
export type UploadState =
  | { state: 'uploaded' }
  /** No file yet; check again after `waitMs`, or when the `uploaded` signal arrives. */
  | { state: 'waiting'; waitMs: number }
  | { state: 'expired' }
  | { state: 'ended' };

export type UploadCheck =
  | { kind: 'ok'; rows: number }
  /** The file is not in the expected format; the request has been ended as failed. */
  | { kind: 'refused'; reason: string }
  /** The request had already ended. */
  | { kind: 'ended' };

export interface RowsHandled {
  /** True when every row of the file has been processed. */
  done: boolean;
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  /** Why processing stopped early: the request's row says it was paused or has ended. */
  stopped?: 'paused' | 'ended';
}

export type BulkFinish =
  | {
      kind: 'completed';
      counts: BulkCounts;
      /** True if patients were written and their queries are to be started. */
      sweep: boolean;
    }
  | { kind: 'ended' };

/** Types of non-retryable failures; their messages are shown to the caller as the reason. */
export const BULK_FAILURE_TYPES = { unreadableUpload: 'UnreadableUpload' } as const;

/** Status of a request after it was ended, by this step or earlier. */
export interface BulkEnd {
  status: string;
  reason?: string;
}

/** Why a bulk create failed for reasons other than its file; shown to the caller. */
export const BULK_END_REASONS = {
  cancelled: 'cancelled',
  byOperator: 'An operator cancelled the request; start a new bulk create and upload the file again',
  workflowGone: 'The workflow was terminated; start a new bulk create and upload the file again',
  ourFault: 'The exchange could not process the file; start a new bulk create and upload the file again',
} as const;
