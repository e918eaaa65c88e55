import { ApplicationFailure } from '@temporalio/activity';
import {
  MERGE_FAILED,
  OUR_OUTAGE_TYPES,
  SOURCE_FAILURE_TYPES,
} from '../../contract/network-query-workflow.ts';
import { isConnectionFault } from '../../exchange/platform/database/connection-fault.ts';
import { OTHER_BUILD_RETRY_MS } from '../../exchange/queries/network-query/rules/retries.ts';
import {
  AttemptSuperseded,
  MergeFailed,
  QueryGone,
  StepFailed,
} from '../../exchange/queries/network-query/step-errors.ts';
import { StoredByAnotherBuild } from '../../exchange/sources/connectors/connector.ts';
import { BlobStoreUnavailableError } from '../../shared/blobs/blob-store.ts';

/** Gives an error the type that the workflow expects. */
export function describeFailure(error: unknown): unknown {
  if (error instanceof StepFailed)
    return ApplicationFailure.create({
      message: error.message,
      type: error.type,
      nonRetryable: error.retryAfterMs === undefined,
      nextRetryDelay: error.retryAfterMs,
    });
  if (error instanceof QueryGone)
    return ApplicationFailure.nonRetryable(error.message, SOURCE_FAILURE_TYPES.superseded);
  // The retry reads the attempt's new state from PostgreSQL.
  if (error instanceof AttemptSuperseded)
    return ApplicationFailure.retryable(error.message, SOURCE_FAILURE_TYPES.superseded);
  // Soon, so that a worker of the other build takes it.
  if (error instanceof StoredByAnotherBuild)
    return ApplicationFailure.create({
      message: error.message,
      type: error.name,
      nextRetryDelay: OTHER_BUILD_RETRY_MS,
    });
  if (error instanceof MergeFailed)
    return ApplicationFailure.create({ message: error.message, type: MERGE_FAILED, cause: error });
  if (error instanceof BlobStoreUnavailableError) return ourOutage('file store', error);
  if (error instanceof Error && isConnectionFault(error)) return ourOutage('database', error);
  return error;
}

/** Failures that follow each other within this time, longer than a step waits before it is repeated, are one outage. */
const ONE_OUTAGE_MS = 10 * 60_000;
const outages = new Map<string, { since: number; lastAt: number }>();

/** Names the part of the exchange that is away, and since when it has been for this process. */
function ourOutage(part: keyof typeof OUR_OUTAGE_TYPES, cause: Error): ApplicationFailure {
  const now = Date.now();
  const known = outages.get(part);
  const since = known !== undefined && now - known.lastAt < ONE_OUTAGE_MS ? known.since : now;
  outages.set(part, { since, lastAt: now });
  return ApplicationFailure.create({
    message: `Our ${part} is away`,
    type: OUR_OUTAGE_TYPES[part],
    details: [new Date(since).toISOString()],
    cause,
  });
}
