import { setTimeout as delay } from 'node:timers/promises';
import { ApplicationFailure, Context, log } from '@temporalio/activity';
import { ApplicationFailureCategory } from '@temporalio/common';
import {
  type AwaitedSourceInput,
  type FailedAttempt,
  MERGE_FAILED,
  OUR_OUTAGE_TYPES,
  SOURCE_FAILURE_TYPES,
  type SourceStep,
  type SourceStepInput,
} from '../../contract/network-query-workflow.ts';
import type { Store } from '../../exchange/platform/database/database.ts';
import { isConnectionFault } from '../../exchange/platform/database/postgres-errors.ts';
import {
  cancelJobsOf,
  type JobCancellation,
} from '../../exchange/queries/network-query/abandoned-jobs.ts';
import {
  askSource,
  lookAtSource,
  pollSource,
} from '../../exchange/queries/network-query/ask.ts';
import { failAttempt } from '../../exchange/queries/network-query/endings.ts';
import type {
  CallingSources,
  WorkOnSource,
} from '../../exchange/queries/network-query/parts.ts';
import {
  GOES_ON_AFTER_MS,
  OTHER_BUILD_RETRY_MS,
  pollDelayMs,
  SOURCE_RETRIES,
} from '../../exchange/queries/network-query/rules/retries.ts';
import {
  openNextAttempt,
  takeStep,
} from '../../exchange/queries/network-query/step.ts';
import {
  AttemptSuperseded,
  MergeFailed,
  QueryGone,
  StepFailed,
  StepGoesOn,
} from '../../exchange/queries/network-query/step-errors.ts';
import { createChangeChecks } from '../../exchange/sources/connectors/change-check-store.ts';
import { StoredByAnotherBuild } from '../../exchange/sources/connectors/connector.ts';
import { BlobStoreUnavailableError } from '../../shared/blobs/blob-store.ts';
import { withHeartbeat } from './heartbeat.ts';

export type SourceActivities = ReturnType<typeof createSourceActivities>;

/**
 * A third of the heartbeat timeout. Each heartbeat is an action that Temporal
 * Cloud bills; a collection may take half an hour.
 */
const HEARTBEAT_EVERY_MS = 10_000;

/**
 * The steps on a source (`step.ts`). Failures have one of the
 * `SOURCE_FAILURE_TYPES`.
 */
export function createSourceActivities(
  from: Omit<CallingSources, 'checks' | 'noteUncancelled'> & {
    isReplaced?: () => Promise<boolean>;
  },
) {
  const deps: CallingSources = {
    ...from,
    checks: createChangeChecks(from.store),
    noteUncancelled,
  };
  const step =
    (work: WorkOnSource) =>
    (input: SourceStepInput): Promise<SourceStep> =>
      withHeartbeat(
        { everyMs: HEARTBEAT_EVERY_MS, toFailure: describeFailure },
        (signal) => takeStep(deps, input, work, signal),
      );

  return {
    /**
     * Finds the patient at the source and requests the data. Collects it if it
     * is available at once.
     */
    askSource: step(askSource),
    /** Polls an accepted request. Collects the data if it is ready. */
    collectSource: step(pollSource),
    awaitSource: repeatedLook(step(lookAtSource), from),
  };
}

/**
 * Looks at an accepted request again and again, until there is an answer to
 * collect, or something that the workflow has to show or decide. Each look is a retry: in
 * Temporal one action, and no event. The failure's detail is the last answer
 * (`SourceStep`); it ends the activity when the next look would come after its
 * deadline.
 */
export const repeatedLook =
  (
    look: (of: SourceStepInput) => Promise<SourceStep>,
    {
      now = async () => Date.now(),
      isReplaced = async () => false,
    }: {
      /** Milliseconds since the epoch. */
      now?: () => Promise<number>;
      /** The workflow is asked then whether it moves to the current build. */
      isReplaced?: () => Promise<boolean>;
    } = {},
  ) =>
  async (input: AwaitedSourceInput): Promise<SourceStep> => {
    const { waitingSince, firstLookMs, ...of } = input;
    const { attempt } = Context.current().info;
    if (attempt === 1) throw stillPending({ state: 'waiting' }, firstLookMs);

    const seen = await look(of);
    if (seen.state !== 'waiting' || seen.held !== undefined) return seen;
    if (await isReplaced()) return seen;
    const nextLookMs = pollDelayMs(
      SOURCE_RETRIES[of.source],
      (await now()) - waitingSince,
      seen.retryAfterMs,
    );
    throw stillPending(seen, nextLookMs);
  };

const stillPending = (
  seen: SourceStep,
  nextRetryDelay: number,
): ApplicationFailure =>
  ApplicationFailure.create({
    type: SOURCE_FAILURE_TYPES.pending,
    message: 'The source has no answer yet',
    details: [seen],
    nextRetryDelay,
    category: ApplicationFailureCategory.BENIGN,
  });

/**
 * A failure that is expected, and repeated: no warning in the log of the
 * worker, and not counted among its failures.
 */
const awaitedRetry = (
  type: string,
  message: string,
  nextRetryDelay?: number,
): ApplicationFailure =>
  ApplicationFailure.create({
    type,
    message,
    nextRetryDelay,
    category: ApplicationFailureCategory.BENIGN,
  });

/** The source expires the job by itself. */
const noteUncancelled = (): void =>
  log.info('the source did not accept the cancellation of a request');

/**
 * A cancellation at a source takes up to 5 s and goes on after the step; what
 * the process cannot finish, `reconcile` does.
 */
const CANCEL_AWAITED_MS = 500;

export type RecordActivities = ReturnType<typeof createRecordActivities>;

/**
 * What the workflow itself records. Each activity may run twice and takes
 * effect once.
 */
export function createRecordActivities(
  deps: JobCancellation & {
    store: Pick<Store, 'asAccount' | 'callAsAccount'>;
    callbackKey: string;
  },
) {
  const { store } = deps;

  return {
    /**
     * Ends an attempt as failed. Without `retryAfterMs`, this is the end of the
     * source, and a webhook announces it.
     */
    async recordFailedAttempt(failed: FailedAttempt): Promise<void> {
      await store.asAccount(failed.accountId, (tx) =>
        failAttempt(tx, failed, failed),
      );
      // Also those of a query that was deleted. A job that is accepted from
      // here on is cancelled by the step that asked for it. Not waited for
      // long: a source that hangs must not hold the queue of everybody's small
      // steps.
      await Promise.race([
        cancelJobsOf(deps, failed),
        delay(CANCEL_AWAITED_MS, undefined, { ref: false }),
      ]);
    },

    /** Opens the next attempt at a source, so that readers see it at once. */
    async openNextAttempt(of: SourceStepInput): Promise<{ attempt: number }> {
      const opened = openNextAttempt(store, of, deps.callbackKey);
      // The query was deleted: the first step of the attempt will find that
      // too, and end the source.
      return opened.catch((error: unknown) => {
        if (error instanceof QueryGone) return { attempt: of.attempt };
        throw error;
      });
    },
  };
}

/** Gives an error the type that the workflow expects. */
export function describeFailure(error: unknown): unknown {
  if (error instanceof StepFailed)
    return error.retryAfterMs === undefined
      ? ApplicationFailure.nonRetryable(error.message, error.type)
      : awaitedRetry(error.type, error.message, error.retryAfterMs);
  if (error instanceof QueryGone)
    return ApplicationFailure.nonRetryable(
      error.message,
      SOURCE_FAILURE_TYPES.superseded,
    );
  // The retry reads the attempt's new state from PostgreSQL.
  if (error instanceof AttemptSuperseded)
    return awaitedRetry(SOURCE_FAILURE_TYPES.superseded, error.message);
  if (error instanceof StepGoesOn)
    return awaitedRetry(
      SOURCE_FAILURE_TYPES.slow,
      error.message,
      GOES_ON_AFTER_MS,
    );
  // Soon, so that a worker of the other build takes it.
  if (error instanceof StoredByAnotherBuild)
    return awaitedRetry(error.name, error.message, OTHER_BUILD_RETRY_MS);
  if (error instanceof MergeFailed)
    return ApplicationFailure.create({
      message: error.message,
      type: MERGE_FAILED,
      cause: error,
    });
  if (error instanceof BlobStoreUnavailableError)
    return ourOutage('file store', error);
  if (error instanceof Error && isConnectionFault(error))
    return ourOutage('database', error);
  return error;
}

/**
 * Failures that follow each other within this time, longer than a step waits
 * before it is repeated, are one outage.
 */
const ONE_OUTAGE_MS = 10 * 60_000;
const outages = new Map<string, { since: number; lastAt: number }>();

/**
 * Names the part of the exchange that is away, and since when it has been for
 * this process.
 */
function ourOutage(
  part: keyof typeof OUR_OUTAGE_TYPES,
  cause: Error,
): ApplicationFailure {
  const now = Date.now();
  const known = outages.get(part);
  const since =
    known !== undefined && now - known.lastAt < ONE_OUTAGE_MS
      ? known.since
      : now;
  outages.set(part, { since, lastAt: now });
  return ApplicationFailure.create({
    message: `Our ${part} is away`,
    type: OUR_OUTAGE_TYPES[part],
    details: [new Date(since).toISOString()],
    cause,
  });
}
