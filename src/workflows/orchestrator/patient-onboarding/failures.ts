import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';

/** How an activity ended badly: the kind that the client gave it, and its message (never with values). */
export interface CallFailure {
  kind: string;
  message: string;
}

/** Undefined for what is no failed call: cancellation, a bug. */
export function callFailure(error: unknown): CallFailure | undefined {
  if (!(error instanceof ActivityFailure)) return undefined;
  if (error.cause instanceof ApplicationFailure)
    return { kind: error.cause.type ?? 'unavailable', message: error.cause.message };
  if (error.cause instanceof TimeoutFailure) return timedOut(error.cause);
  return undefined;
}

function timedOut(timeout: TimeoutFailure): CallFailure {
  if (timeout.cause instanceof ApplicationFailure)
    return { kind: timeout.cause.type ?? 'unavailable', message: timeout.cause.message };
  return { kind: 'unavailable', message: 'the exchange did not answer in time' };
}

/** Runs a step that the onboarding cannot go on without; its failure ends the workflow, with a type of its own. */
export async function essential<R>(step: () => Promise<R>, type: string, told: string): Promise<R> {
  try {
    return await step();
  } catch (error) {
    const failure = callFailure(error);
    if (failure === undefined) throw error;
    throw ApplicationFailure.nonRetryable(`${told}: ${failure.message}`, type, { kind: failure.kind });
  }
}
