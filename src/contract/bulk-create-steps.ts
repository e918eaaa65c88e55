import type { BulkCounts } from './bulk-create-workflow.ts';

/** A bulk create, as its workflow names it to the activities. */
export interface BulkStepInput {
  accountId: string;
  requestId: string;
}

/** How a request's upload stands, by its row. */
export type UploadLook =
  | { state: 'uploaded' }
  /** Not yet; look again after so long, or when the workflow is told. */
  | { state: 'waiting'; waitMs: number }
  | { state: 'expired' }
  | { state: 'ended' };

export type UploadCheck =
  | { kind: 'ok'; rows: number }
  /** Not in the expected format: the request has been ended as failed. */
  | { kind: 'refused'; reason: string }
  /** Somebody else has ended the request. */
  | { kind: 'ended' };

export interface RowsHandled {
  /** Every row of the file is handled. */
  done: boolean;
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  /** Why it stopped early: by the request's row, which others write. */
  stopped?: 'paused' | 'ended';
}

export type BulkFinish =
  | { kind: 'completed'; counts: BulkCounts /** To be queried now: patients were written. */; sweep: boolean }
  | { kind: 'ended' };

/** Types of failures that repeating does not mend; their messages are shown to the caller as the reason. */
export const BULK_FAILURE_TYPES = { unreadableUpload: 'UnreadableUpload' } as const;

/** How a request stands after it was to be ended: by this step, or by somebody before. */
export interface BulkEnd {
  status: string;
  reason?: string;
}

/** Why a bulk create failed, where it is not its file's fault. Shown to the caller. */
export const BULK_END_REASONS = {
  cancelled: 'cancelled',
  byOperator: 'Cancelled by an operator; send the file again',
  workflowGone: 'The workflow was ended from outside; send the file again',
  ourFault: 'The exchange could not process the file; send it again',
} as const;
