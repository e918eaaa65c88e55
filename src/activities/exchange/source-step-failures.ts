import { ApplicationFailure } from '@temporalio/activity';
import { SOURCE_FAILURE_TYPES } from '../../contract/network-query-steps.ts';
import { AttemptSuperseded } from '../../exchange/network-query/collect.ts';
import type { NextTry } from '../../exchange/network-query/failed-calls.ts';
import { QueryGone } from '../../exchange/network-query/open-attempt.ts';
import {
  type SourceFailure,
  type SourceFailureKind,
  StoredByAnotherBuild,
} from '../../exchange/sources/connector.ts';

const OTHER_BUILD_RETRY_MS = 5_000;

/** Gives an error the type that the workflow expects. */
export function describeFailure(error: unknown): unknown {
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
  return error;
}

const TYPE_OF_KIND: Record<SourceFailureKind, string> = {
  transport: SOURCE_FAILURE_TYPES.transport,
  'rate-limited': SOURCE_FAILURE_TYPES.rateLimited,
  denied: SOURCE_FAILURE_TYPES.denied,
  refused: SOURCE_FAILURE_TYPES.refused,
  'bad-answer': SOURCE_FAILURE_TYPES.badAnswer,
  'job-failed': SOURCE_FAILURE_TYPES.jobFailed,
};

/** @param next when the same call is made again; undefined: not within this attempt */
export const toApplicationFailure = (
  { kind, message }: SourceFailure,
  next: NextTry | undefined,
): ApplicationFailure =>
  ApplicationFailure.create({
    message,
    type: TYPE_OF_KIND[kind],
    nonRetryable: next === undefined,
    nextRetryDelay: next?.waitMs,
  });
