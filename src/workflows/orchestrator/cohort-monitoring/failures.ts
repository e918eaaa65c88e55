import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';

/** The reason why a page could not be done, as the run's own failure; what else was thrown stays what it is. */
export function asFailure(error: unknown): unknown {
  if (!(error instanceof ActivityFailure)) return error;
  const cause = error.cause instanceof TimeoutFailure ? (error.cause.cause ?? error.cause) : error.cause;
  if (cause instanceof ApplicationFailure)
    return ApplicationFailure.nonRetryable(cause.message, cause.type ?? 'unavailable');
  if (cause instanceof TimeoutFailure)
    return ApplicationFailure.nonRetryable('The exchange did not answer in time', 'unavailable');
  return error;
}
