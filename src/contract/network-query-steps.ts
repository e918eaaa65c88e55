import type { SourceType } from './primitives.ts';

/** What an activity on a source is told: ids only; everything else is in PostgreSQL. */
export interface SourceStepInput {
  accountId: string;
  requestId: string;
  run: number;
  source: SourceType;
  attempt: number;
}

/** How far a source has come after a step. */
export type SourceStep =
  | { state: 'waiting'; retryAfterMs?: number }
  | { state: 'completed'; resources: number; note?: string };

/** Why an attempt ends without data; `retryAfterMs` when a further attempt is due. */
export interface FailedAttempt extends SourceStepInput {
  reason: string;
  retryAfterMs?: number;
  /** The source may still be at work on it and should be told to stop. */
  abandoned: boolean;
}

/** Failure types of the source activities; the only strings that workflow code compares. */
export const SOURCE_FAILURE_TYPES = {
  /** Retried within the attempt. */
  transport: 'SourceTransport',
  rateLimited: 'SourceRateLimited',
  /** Ends the source: trying again is of no use. */
  refused: 'SourceRefused',
  /** A further attempt may do better. */
  badAnswer: 'SourceBadAnswer',
  jobFailed: 'SourceJobFailed',
  /** Somebody else has ended the attempt, or goes on with it. */
  superseded: 'SourceAttemptSuperseded',
} as const;

/** Calls after which a source that does not answer has failed the attempt. */
export const SOURCE_CALLS_MAX = 8;
