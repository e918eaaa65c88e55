import type { SourceType } from './primitives.ts';

/** Input of the source activities. It carries ids only; everything else is read from PostgreSQL. */
export interface SourceStepInput {
  accountId: string;
  requestId: string;
  run: number;
  source: SourceType;
  attempt: number;
}

/** State of a source after a step. */
export type SourceStep =
  | {
      state: 'waiting';
      retryAfterMs?: number;
      /** The source failed or refused the last calls; it is called again after `retryAfterMs`. */
      held?: { reason: string; nextTryAt: string };
    }
  | { state: 'completed'; resources: number; note?: string };

/** An attempt that ended without data. `retryAfterMs`: time until the next attempt, if there is to be one. */
export interface FailedAttempt extends SourceStepInput {
  reason: string;
  retryAfterMs?: number;
  /** True if the source may still be processing the request; its job is to be cancelled. */
  abandoned: boolean;
}

/** Failure types of the source activities. Workflow code compares these and no other strings. */
export const SOURCE_FAILURE_TYPES = {
  /** Retried within the attempt, until its deadline. */
  transport: 'SourceTransport',
  rateLimited: 'SourceRateLimited',
  denied: 'SourceDenied',
  /** Not retryable: the source refuses this patient, and fails. */
  refused: 'SourceRefused',
  /** The attempt fails; a further attempt may succeed. */
  badAnswer: 'SourceBadAnswer',
  jobFailed: 'SourceJobFailed',
  /** The attempt has already ended, or another run continues it. */
  superseded: 'SourceAttemptSuperseded',
} as const;

/** Failure types of a step that could not work because a part of the exchange was away. Detail: since when, ISO 8601. */
export const OUR_OUTAGE_TYPES = { database: 'OurDatabaseAway', 'file store': 'OurFileStoreAway' } as const;

/** Failure type of a step whose answer is stored but could not be merged into the record, by a fault of ours. */
export const MERGE_FAILED = 'OurMergeFailed';
