/** What starts a `bulkPatientCreate` workflow: ids only. */
export interface BulkPatientCreateInput {
  accountId: string;
  requestId: string;
  /** ISO 8601: after it, without an upload, the request is expired. */
  uploadExpiresAt: string;
}

/** Names of the messages that a running `bulkPatientCreate` takes. */
export const BULK_CREATE_MESSAGES = {
  /** Signal: the file is in the blob store and the request's row says so. A hint only. */
  uploaded: 'uploaded',
  /** Query: `BulkCreateProgress`. */
  status: 'status',
  /** Updates with validators. */
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
} as const;

export interface BulkCounts {
  /** Rows of the file; 0 before its format has been checked. */
  rows: number;
  handled: number;
  created: number;
  updated: number;
  failed: number;
}

/** The one public snapshot of a running bulk create (query `status`). */
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

/** What starts a `querySweep` workflow: the queries of a bulk create's patients. */
export interface QuerySweepInput {
  accountId: string;
  requestId: string;
  pace?: Partial<SweepPace>;
}

/** How a sweep divides its work; each member has a default (`DEFAULT_SWEEP_PACE`). */
export interface SweepPace {
  /** Patients whose queries are started in one transaction, at most. */
  pageSize: number;
  /** Its queries that may be under way at the same time, those aside that only wait for a source's answer. */
  windowSize: number;
  /** Its queries that may be open at the same time, waiting ones included. */
  openMax: number;
  /** Pages before the workflow continues as new. */
  pagesPerRun: number;
}

export const DEFAULT_SWEEP_PACE: SweepPace = {
  pageSize: 50,
  windowSize: 50,
  openMax: 5_000,
  pagesPerRun: 200,
};

export const QUERY_SWEEP_MESSAGES = {
  /** Query: `QuerySweepProgress`. */
  status: 'status',
  pause: 'pause',
  resume: 'resume',
  cancel: 'cancel',
} as const;

export interface QuerySweepProgress {
  requestId: string;
  state: 'running' | 'paused' | 'completed' | 'cancelled';
  patients: number;
  started: number;
  /** Opted out of every source that the sweep asks, or deleted meanwhile. */
  skipped: number;
  failed: number;
  /** Queries started by this sweep that have not ended. */
  open: number;
}

/** Shown on the sweep's page in the Temporal UI, whoever started it. */
export const QUERY_SWEEP_STORY = [
  'Starts the network queries of all patients of a bulk create, in the order of its file.',
  '',
  'Each page waits for room: in the sweep’s own window, and in four fifths of each source’s limit of the minute, which it',
  'shares with everybody else. A patient who has opted out of all that would be asked is skipped.',
  '',
  'Steer it with the updates `pause`, `resume` and `cancel`; queries that are under way go on.',
].join('\n');
