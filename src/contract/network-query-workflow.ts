import type { SourceType } from './primitives.ts';

/** Input of the workflow `networkQuery`: ids and numbers only. */
export interface NetworkQueryInput {
  accountId: string;
  requestId: string;
  /**
   * 0 for the query itself; n ≥ 1 for the nth redrive, which queries single
   * sources again after the query's end.
   */
  run: number;
  sources: { source: SourceType; attempt: number }[];
  steering: Record<SourceType, SourceSteering>;
  /** Number of history events at which the workflow continues as new. */
  historyEventsMax: number;
  /**
   * The status becomes a search attribute only where Temporal's own does not
   * say it; absent in queries that 0.2.0 or earlier has started.
   */
  showsTroubleOnly?: true;
}

/** Far below the 51,200 events at which Temporal ends a workflow. */
export const HISTORY_EVENTS_MAX = 4_000;

/**
 * What decides about the course of a query; the values are in the exchange's
 * `rules/retries.ts`.
 */
export interface SourceSteering {
  /**
   * A source that has not answered an attempt after this long ends as failed.
   */
  deadlineMs: number;
  /**
   * Waits before further attempts, for a source that accepted the request and
   * then failed.
   */
  nextAttemptAfterMs: readonly number[];
}

/**
 * Signal: a source reports that its data is ready. Only a hint; the data is
 * always fetched.
 */
export interface SourceCallback {
  source: SourceType;
  attempt: number;
}

/** Input of the updates `retrySource` and `giveUpSource`. */
export interface SourceCommand {
  source: SourceType;
}

/** Names of the signals, queries and updates of `networkQuery`. */
export const NETWORK_QUERY_MESSAGES = {
  status: 'status',
  sourceCallback: 'sourceCallback',
  retrySource: 'retrySource',
  giveUpSource: 'giveUpSource',
  cancelQuery: 'cancelQuery',
} as const;

/**
 * Reasons of attempts that a caller or an operator ended: they have not failed.
 */
export const CANCELLED = {
  source: 'Given up on request',
  query: 'Cancelled on request',
  byOperator: 'Cancelled by an operator',
} as const;
export const CANCEL_REASONS: readonly string[] = Object.values(CANCELLED);

export interface SourceProgress {
  source: SourceType;
  attempt: number;
  state:
    | 'asking'
    | 'waiting'
    | 'collecting'
    | 'backing-off'
    | 'completed'
    | 'failed';
  resources: number;
  reason?: string;
  /**
   * Set while the source is not called because it failed or refused the last
   * calls, for the given `reason`.
   */
  nextTryAt?: string;
}

/**
 * A source's wait for its data, which goes on when the workflow continues as
 * new.
 */
export interface SourceWait {
  /**
   * The first attempt of this run of the query, which decides the next
   * back-off.
   */
  firstAttempt: number;
  /** Milliseconds since the epoch. */
  deadlineAt: number;
  /** When the wait began, in milliseconds since the epoch. */
  since?: number;
  /** Waits so far. */
  polls: number;
  /** Callbacks that came before the data was ready. */
  earlyCallbacks: number;
  /** Time by which pauses have moved the deadline. */
  pausedMs?: number;
  /** What the last step returned. */
  answer?: WaitingStep;
}

/** What a workflow that continues as new hands over. */
export interface CarriedQuery {
  sources: (SourceProgress & { wait?: SourceWait; isCalled: boolean })[];
}

/** Result of the query `status`: a snapshot of the network query. */
export interface NetworkQueryProgress {
  requestId: string;
  run: number;
  status: 'running' | 'completed' | 'partial' | 'failed';
  sources: SourceProgress[];
}

/**
 * Input of the source activities. It carries ids only; everything else is read
 * from PostgreSQL.
 */
export interface SourceStepInput {
  accountId: string;
  requestId: string;
  run: number;
  source: SourceType;
  attempt: number;
}

/** Input of `awaitSource`. */
export interface AwaitedSourceInput extends SourceStepInput {
  /** When the attempt began to wait, in milliseconds since the epoch. */
  waitingSince: number;
  /** Until the first look, in milliseconds. */
  firstLookMs: number;
}

/**
 * State of a source after a step; after a look at it, `ready`: it has an answer
 * that is to be collected.
 */
export type SourceStep =
  | {
      state: 'ready';
      /** The gateways of networks are asked, in a queue of their own. */
      asksGateways?: true;
    }
  | {
      state: 'waiting';
      retryAfterMs?: number;
      /**
       * The source failed or refused the last calls; it is called again after
       * `retryAfterMs`.
       */
      held?: { reason: string; nextTryAt: string };
      /**
       * For how long operators have kept the attempt from calling its source so
       * far.
       */
      pausedMs?: number;
      /** One of several connections has ended in this step. */
      hasEndedPart?: true;
      /** As with `ready`; `retryAfterMs` is when the next gateway is due. */
      asksGateways?: true;
      /** No further look fits in before the deadline. */
      isNearDeadline?: true;
    }
  | { state: 'completed'; resources: number; note?: string };

export type WaitingStep = Extract<SourceStep, { state: 'waiting' }>;

/**
 * An attempt that ended without data. `retryAfterMs`: time until the next
 * attempt, if there is to be one.
 */
export interface FailedAttempt extends SourceStepInput {
  reason: string;
  retryAfterMs?: number;
  /**
   * True if the source may still be processing the request; its job is to be
   * cancelled.
   */
  abandoned: boolean;
}

/**
 * Failure types of the source activities. Workflow code compares these and no
 * other strings.
 */
export const SOURCE_FAILURE_TYPES = {
  /** Retried within the attempt, until its deadline. */
  transport: 'SourceTransport',
  rateLimited: 'SourceRateLimited',
  denied: 'SourceDenied',
  /** No failure: the step stored what it has, and goes on at once. */
  slow: 'SourceSlow',
  /** No failure: the source has no answer yet, and is looked at again. */
  pending: 'SourcePending',
  /** Not retryable: the source refuses this patient, and fails. */
  refused: 'SourceRefused',
  /** The attempt fails; a further attempt may succeed. */
  badAnswer: 'SourceBadAnswer',
  jobFailed: 'SourceJobFailed',
  /** The attempt has already ended, or another run continues it. */
  superseded: 'SourceAttemptSuperseded',
} as const;

/**
 * Failure types of a step that could not work because a part of the exchange
 * was away. Detail: since when, ISO 8601.
 */
export const OUR_OUTAGE_TYPES = {
  database: 'OurDatabaseAway',
  'file store': 'OurFileStoreAway',
} as const;

/**
 * Failure type of a step whose answer is stored but could not be merged into
 * the record, by a fault of ours.
 */
export const MERGE_FAILED = 'OurMergeFailed';
