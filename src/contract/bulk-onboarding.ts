import type { BulkCounts } from './bulk-create.ts';
import type { ExchangeAccess, LearnedBy } from './patient-onboarding.ts';

/**
 * Messages and types of the workflow `bulkOnboarding`, shared with the starters
 * and the webhook receiver; this file must not import workflow code. The
 * workflow id is `bulkOnboardingWorkflowId(jobKey)`. Neither rows nor file
 * names appear here, because a file name may identify the panel.
 */
export const BULK_ONBOARDING_MESSAGES = {
  /** Signal: a verified webhook reported the status of the request. */
  bulkCreateEvent: 'bulkCreateEvent',
  /** Query: a snapshot, `BulkOnboardingStatus`. */
  status: 'status',
  /**
   * Updates; both return `BulkOnboardingStatus`. `pause` makes the exchange
   * stop after the rows it is processing; `resume` makes it continue.
   */
  pause: 'pause',
  resume: 'resume',
} as const;

/** A file in the orchestrator's own file store, which encrypts it. */
export interface FileRef {
  /** Random, so that it discloses nothing and cannot be guessed. */
  ref: string;
  /** SHA-256 of the unencrypted bytes, in hex. */
  sha256: string;
  sizeBytes: number;
  contentType: string;
}

/**
 * Polling intervals and deadline of the orchestration; `DEFAULT_BULK_TIMING` is
 * written into each new input.
 */
export interface BulkOnboardingTiming {
  /**
   * Delay before the first poll for the request's status if no webhook arrives;
   * doubles with each poll.
   */
  pollFirstMs: number;
  pollMaxMs: number;
  /**
   * Maximum number of bulk create requests for one file: an upload URL is valid
   * for 10 minutes and may expire unused.
   */
  requestsMax: number;
  /** Time after which the workflow stops waiting for the request. */
  deadlineMs: number;
}

export const DEFAULT_BULK_TIMING: BulkOnboardingTiming = {
  pollFirstMs: 5_000,
  pollMaxMs: 5 * 60_000,
  requestsMax: 3,
  deadlineMs: 7 * 24 * 3_600_000,
};

export interface BulkOnboardingInput {
  exchange: ExchangeAccess;
  /**
   * Facility of every row that names none; optional if the account has exactly
   * one facility.
   */
  facilityId?: string;
  /** If true, the exchange only reports what it would do. */
  dryRun: boolean;
  file: FileRef;
  /**
   * Number of rows, counted before the start; the counts reported by the
   * exchange are authoritative.
   */
  rows: number;
  /**
   * What is left out is as in `DEFAULT_BULK_TIMING`. Our starters state all of
   * it, so that a new default applies to new workflows only.
   */
  timing?: Partial<BulkOnboardingTiming>;
}

/**
 * The members of a webhook `medical.bulk-patient-create` that the orchestration
 * needs.
 */
export interface BulkCreateSignal {
  messageId: string;
  requestId: string;
  status: 'processing' | 'completed' | 'failed';
  /** Link to the result CSV; it expires. */
  result?: string;
  reason?: string;
}

export interface BulkOnboardingStatus {
  phase:
    | 'requesting'
    | 'uploading'
    | 'processing'
    | 'reading-result'
    | 'cancelling'
    | 'ended';
  dryRun: boolean;
  /**
   * SHA-256 of the file sent, to detect a second job with the same id and
   * another file.
   */
  fileSha256: string;
  /** Bulk create requests made; the last one is the current one. */
  requestIds: string[];
  paused: boolean;
  /** As last reported by the exchange. */
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  webhooksReceived: number;
  polls: number;
  nextPollAt?: string;
  deadlineAt: string;
  /** The last problem that the workflow is waiting to pass. */
  problem?: string;
}

/** The outcome of the result CSV: its row counts and the files made of it. */
export interface BulkResult {
  counts: Omit<BulkCounts, 'handled'>;
  /**
   * The exchange's result CSV, unchanged: every row, with patient id, status
   * and reason.
   */
  result: FileRef;
  /**
   * `externalId,patientId,status` of each row that has a patient; absent if no
   * row has one (dry run).
   */
  patients?: FileRef;
  /**
   * Only the failed rows, as sent, with the reason; absent if no row failed.
   */
  corrections?: FileRef;
}

export interface BulkOnboardingSummary {
  /**
   * `completed`: no row failed. `partial`: some rows failed. `failed`: all rows
   * failed, or the exchange rejected the file.
   */
  status: 'completed' | 'partial' | 'failed' | 'timed-out';
  dryRun: boolean;
  requestIds: string[];
  /** Absent without a result CSV. */
  outcome?: BulkResult;
  /** Why there is no result CSV, as reported by the exchange. */
  reason?: string;
  via?: LearnedBy;
  webhooksReceived: number;
}
