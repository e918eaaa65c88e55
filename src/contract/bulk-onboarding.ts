import type { ExchangeAccess, LearnedBy } from './patient-onboarding.ts';

/**
 * What starters, the webhook receiver and the workflow `bulkOnboarding` know of each other; it imports nothing that
 * would pull in workflow code. Its workflow id is `bulkOnboardingWorkflowId(jobKey)`. No row and no file name is in
 * here: a name may say whose panel it is.
 */
export const BULK_ONBOARDING_MESSAGES = {
  /** Signal: the exchange told how the request stands (from a verified webhook). */
  bulkCreateEvent: 'bulkCreateEvent',
  /** Query: the one public snapshot, `BulkOnboardingStatus`. */
  status: 'status',
  /** Updates: the exchange stops after the rows it has in hand, and goes on. Answer `BulkOnboardingStatus`. */
  pause: 'pause',
  resume: 'resume',
} as const;

/** A file in the orchestrator's own store; encrypted there. */
export interface FileRef {
  /** Random, so it tells nothing and cannot be guessed. */
  ref: string;
  /** Hex, of the plain bytes. */
  sha256: string;
  sizeBytes: number;
  contentType: string;
}

/** How patient the orchestration is; each member has a default (`DEFAULT_BULK_TIMING`). */
export interface BulkOnboardingTiming {
  /** First look at the request when no webhook has come; doubles with each look. */
  pollFirstMs: number;
  pollMaxMs: number;
  /** How many requests are made for one file: an upload URL lives 10 minutes, and may pass unused. */
  requestsMax: number;
  /** After it the request is no longer waited for. */
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
  /** Of every row without a facility of its own; may be left out when the account has exactly one. */
  facilityId?: string;
  /** The exchange says what it would do, and does nothing. */
  dryRun: boolean;
  file: FileRef;
  /** As counted before the start; what counts in the end is what the exchange says. */
  rows: number;
  timing?: Partial<BulkOnboardingTiming>;
}

/** A webhook `medical.bulk-patient-create`, reduced to what the orchestration needs. */
export interface BulkCreateSignal {
  messageId: string;
  requestId: string;
  status: 'processing' | 'completed' | 'failed';
  /** Link to the result CSV; it expires. */
  result?: string;
  reason?: string;
}

export interface BulkRowCounts {
  rows: number;
  handled: number;
  created: number;
  updated: number;
  failed: number;
}

export interface BulkOnboardingStatus {
  phase: 'requesting' | 'uploading' | 'processing' | 'reading-result' | 'cancelling' | 'ended';
  dryRun: boolean;
  /** Of the file that was sent, to tell two jobs of one id apart. */
  fileSha256: string;
  /** Requests made at the exchange; the last one is the one that counts. */
  requestIds: string[];
  paused: boolean;
  /** As the exchange said last. */
  counts: BulkRowCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  webhooksReceived: number;
  polls: number;
  nextPollAt?: string;
  deadlineAt: string;
  /** Last thing that went wrong and is being waited out. */
  problem?: string;
}

/** What the result CSV says, counted, and where it is. */
export interface BulkResult {
  counts: Omit<BulkRowCounts, 'handled'>;
  /** As the exchange gave it: every row, with patient id, status and reason. */
  result: FileRef;
  /** `externalId,patientId,status` of each row that has a patient; absent when none has (dry run). */
  patients?: FileRef;
  /** Only the rows that failed, as they were sent, with the reason; absent when none failed. */
  corrections?: FileRef;
}

export interface BulkOnboardingSummary {
  /** `completed`: no row failed. `partial`: some did. `failed`: all did, or the exchange did not take the file. */
  status: 'completed' | 'partial' | 'failed' | 'timed-out';
  dryRun: boolean;
  requestIds: string[];
  /** Absent without a result CSV. */
  outcome?: BulkResult;
  /** Why there is none, in the words of the exchange. */
  reason?: string;
  via?: LearnedBy;
  webhooksReceived: number;
}
