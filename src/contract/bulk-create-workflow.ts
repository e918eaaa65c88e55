import type { BulkCounts } from './bulk-create.ts';

/**
 * Input of the workflow `bulkPatientCreate`. It carries ids only; everything
 * else is read from PostgreSQL.
 */
export interface BulkPatientCreateInput {
  accountId: string;
  requestId: string;
  /** ISO 8601. A request without an upload by then expires. */
  uploadExpiresAt: string;
}

/** Names of the signals, queries and updates of `bulkPatientCreate`. */
export const BULK_CREATE_MESSAGES = {
  /**
   * Signal: the file has been uploaded. Only a hint; the request's row is
   * authoritative.
   */
  uploaded: 'uploaded',
  /** Query: `BulkCreateProgress`. */
  status: 'status',
  /** Updates, with validators. */
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
} as const;

/** Result of the query `status`: a snapshot of the bulk create. */
export interface BulkCreateProgress {
  requestId: string;
  state:
    | 'waiting-for-upload'
    | 'checking'
    | 'processing'
    | 'paused'
    | 'joining'
    | 'completed'
    | 'failed'
    | 'expired';
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  reason?: string;
}

/**
 * Input of the workflow `querySweep`, which starts the post-import queries of a
 * bulk create.
 */
export interface QuerySweepInput {
  accountId: string;
  requestId: string;
  pace: SweepPace;
}

/**
 * Page and window sizes of a sweep; `DEFAULT_SWEEP_PACE` is written into each
 * new input.
 */
export interface SweepPace {
  /**
   * Maximum number of patients whose queries are started in one transaction.
   */
  pageSize: number;
  /**
   * Maximum number of the sweep's queries in progress, not counting those that
   * are waiting for a source's response.
   */
  windowSize: number;
  /** Maximum number of the sweep's open queries, including waiting ones. */
  openMax: number;
  /** Number of pages after which the workflow continues as new. */
  pagesPerRun: number;
}

export const DEFAULT_SWEEP_PACE: SweepPace = {
  pageSize: 50,
  windowSize: 50,
  openMax: 50_000,
  pagesPerRun: 200,
};

/** Names of the queries and updates of `querySweep`. */
export const QUERY_SWEEP_MESSAGES = {
  /** Query: `QuerySweepProgress`. */
  status: 'status',
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
} as const;

/** Result of the query `status`: a snapshot of the sweep. */
export interface QuerySweepProgress {
  requestId: string;
  state: 'running' | 'paused' | 'completed' | 'cancelled';
  patients: number;
  started: number;
  /**
   * Patients without a query: opted out of every source of the sweep, or
   * deleted since.
   */
  skipped: number;
  failed: number;
  /** Queries started by this sweep that have not ended. */
  open: number;
}

/** Identifies a bulk create in the input of its activities. */
export interface BulkStepInput {
  accountId: string;
  requestId: string;
}

/** State of a request's upload, read from the request's row. */
export type UploadState =
  | { state: 'uploaded' }
  /**
   * No file yet; check again after `waitMs`, or when the `uploaded` signal
   * arrives.
   */
  | { state: 'waiting'; waitMs: number }
  | { state: 'expired' }
  | { state: 'ended' };

export type UploadCheck =
  | { kind: 'ok'; rows: number }
  /**
   * The file is not in the expected format; the request has been ended as
   * failed.
   */
  | { kind: 'refused'; reason: string }
  /** The request had already ended. */
  | { kind: 'ended' };

export interface RowsHandled {
  /** True when every row of the file has been processed. */
  done: boolean;
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  /**
   * Why processing stopped early: the request's row says it was paused or has
   * ended.
   */
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

/**
 * Types of non-retryable failures; their messages are shown to the caller as
 * the reason.
 */
export const BULK_FAILURE_TYPES = {
  unreadableUpload: 'UnreadableUpload',
} as const;

/** Status of a request after it was ended, by this step or earlier. */
export interface BulkEnd {
  status: string;
  reason?: string;
}

/**
 * Why a bulk create failed for reasons other than its file; shown to the
 * caller.
 */
export const BULK_END_REASONS = {
  cancelled: 'cancelled',
  byOperator:
    'An operator cancelled the request; start a new bulk create and upload the file again',
  workflowGone:
    'The workflow was terminated; start a new bulk create and upload the file again',
  ourFault:
    'The exchange could not process the file; start a new bulk create and upload the file again',
} as const;
