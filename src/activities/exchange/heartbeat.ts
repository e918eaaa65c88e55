import {
  ApplicationFailure,
  CancelledFailure,
  Context,
} from '@temporalio/activity';
import { ProcessEndedTooOften } from '../../exchange/platform/recovery/start-guard.ts';

export interface HeartbeatOptions {
  /** Default: 1 s. */
  everyMs?: number;
  /**
   * Gives a failure of `work` the type that workflows expect. Not called after
   * a cancellation.
   */
  toFailure?: (error: unknown) => unknown;
}

/**
 * Runs the work of an activity and sends heartbeats until it ends, so that a
 * killed worker is noticed and a cancellation arrives (`signal`). Throws
 * CancelledFailure when the work failed after a cancellation.
 */
export async function withHeartbeat<T>(
  { everyMs = 1_000, toFailure = (error) => error }: HeartbeatOptions,
  work: (signal: AbortSignal, heartbeat: () => void) => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const signal = context.cancellationSignal;
  const heartbeat = () => context.heartbeat();
  const timer = setInterval(heartbeat, everyMs);
  try {
    return await work(signal, heartbeat);
  } catch (error) {
    if (signal.aborted) throw new CancelledFailure('Stopped on request');
    if (error instanceof ProcessEndedTooOften)
      throw ApplicationFailure.nonRetryable(error.message, error.name);
    throw await toFailure(error);
  } finally {
    clearInterval(timer);
  }
}
