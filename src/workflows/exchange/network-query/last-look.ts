import { ActivityFailure, ApplicationFailure, isCancellation, TimeoutFailure } from '@temporalio/workflow';
import { OUR_OUTAGE_TYPES } from '../../../contract/network-query-workflow.ts';

/**
 * A last look at a source that may have its answer ready is repeated for so long while a part of the exchange is away. A source
 * that does not answer ends it at once.
 */
export const LAST_LOOK_MS = 24 * 60 * 60_000;

/** Whether a step was still being repeated when its time was up, so that the source may have an answer by now. */
export const ranOutOfTime = (error: unknown): error is ActivityFailure =>
  error instanceof ActivityFailure &&
  !isCancellation(error) &&
  (error.retryState === 'TIMEOUT' || error.cause instanceof TimeoutFailure);

/** Which part of the exchange kept a step from ending, and from when to now, in words for callers; undefined: none. */
export function ourOutage(error: unknown): string | undefined {
  if (error instanceof ApplicationFailure) {
    const [part] = Object.entries(OUR_OUTAGE_TYPES).find(([, type]) => type === error.type) ?? [];
    const [since] = error.details ?? [];
    if (part !== undefined && typeof since === 'string')
      return `our ${part} was away from ${minuteOf(since)} to ${minuteOf(new Date().toISOString())}`;
  }
  // A timeout has the failure of the last try as its cause.
  return error instanceof Error && error.cause !== undefined ? ourOutage(error.cause) : undefined;
}

/** `2026-11-22 09:52 UTC` */
const minuteOf = (instant: string): string => `${instant.slice(0, 16).replace('T', ' ')} UTC`;
