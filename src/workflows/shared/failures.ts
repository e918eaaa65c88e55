import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  isCancellation,
  proxyActivities,
  TimeoutFailure,
} from '@temporalio/workflow';

/**
 * Why a call of the exchange failed: the kind that the client assigned, and a
 * message without personal data.
 */
export interface CallFailure {
  kind: string;
  message: string;
}

/**
 * Reads why an activity failed. Returns undefined for any other error, such as
 * a cancellation or a bug.
 */
export function callFailure(error: unknown): CallFailure | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  if (error.cause instanceof ApplicationFailure)
    return {
      kind: error.cause.type ?? 'unavailable',
      message: error.cause.message,
    };
  if (error.cause instanceof TimeoutFailure) return timedOut(error.cause);
  return undefined;
}

function timedOut(timeout: TimeoutFailure): CallFailure {
  if (timeout.cause instanceof ApplicationFailure)
    return {
      kind: timeout.cause.type ?? 'unavailable',
      message: timeout.cause.message,
    };
  return {
    kind: 'unavailable',
    message: 'the exchange did not answer in time',
  };
}

/**
 * Runs a step that the workflow cannot continue without. If it fails, throws a
 * non-retryable failure of the given `type` that ends the workflow; its message
 * is `problem` followed by the reason.
 */
export async function essential<R>(
  step: () => Promise<R>,
  type: string,
  problem: string,
): Promise<R> {
  try {
    return await step();
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    throw ApplicationFailure.nonRetryable(
      `${problem}: ${failure.message}`,
      type,
      { kind: failure.kind },
    );
  }
}

/**
 * The failure with which an update is rejected because the workflow's state
 * does not allow it.
 */
export const rejected = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'Rejected');

/** Activities that read and write a row: retried until they succeed. */
export const rowActivities = <A extends object>(summary: string) =>
  proxyActivities<A>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '500ms', maximumInterval: '30 seconds' },
    summary,
  });

/**
 * Ends the row of a workflow whose steps threw. After an operator's
 * cancellation, which goes on from here, `byOperator` is true. Any other error
 * than a failed activity is a bug in our code, or the new history: it is
 * thrown, so that a corrected worker continues.
 */
export async function endAfter<R>(
  error: unknown,
  fail: (byOperator: boolean) => Promise<R>,
): Promise<R> {
  if (isCancellation(error)) {
    await CancellationScope.nonCancellable(() => fail(true));
    throw error;
  }
  if (!(error instanceof ActivityFailure)) throw error;
  return fail(false);
}
