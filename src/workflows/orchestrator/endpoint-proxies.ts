import {
  ActivityCancellationType,
  type ActivityInterfaceFor,
  type ActivityOptions,
  proxyActivities,
} from '@temporalio/workflow';
import type { EndpointActivities } from '../../activities/orchestrator/endpoints.ts';
import type { EndpointName, endpoints } from '../../contract/endpoints.ts';

type ReadName = {
  [N in EndpointName]: (typeof endpoints)[N]['method'] extends 'GET' ? N : never;
}[EndpointName];

/** The operations that only read (GET). */
export type ReadProxies = Pick<ActivityInterfaceFor<EndpointActivities>, ReadName>;
/** The operations that may change something. */
export type WriteProxies = Omit<ActivityInterfaceFor<EndpointActivities>, ReadName>;

export interface EndpointProxies {
  /** Reads. They fail after two minutes, and are abandoned at once when the workflow is cancelled. */
  readonly reads: ReadProxies;
  /**
   * Writes. They are retried for up to 23 hours, because exchanges keep an idempotency key for 24. When the workflow is
   * cancelled, a write in progress is allowed to finish: its outcome must be known before cleaning up after it.
   *
   * @param callId unique among the calls of a workflow id. The idempotency key is made of both, so a workflow that is
   *   reset or continued as new repeats the same call instead of making a second one.
   */
  writes(callId: string, options?: ActivityOptions): WriteProxies;
}

const SHARED: ActivityOptions = {
  // Longer than the client's own timeout of 20 s, so that the client's error says what failed.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
};

/**
 * Makes the operations of the interface callable as activities. They run on the workflow's own task queue unless
 * `options.taskQueue` names another. Each given option replaces the default for it.
 */
export function proxyEndpoints(options: ActivityOptions = {}): EndpointProxies {
  return {
    reads: proxyActivities<EndpointActivities>({
      ...SHARED,
      scheduleToCloseTimeout: '2m',
      cancellationType: ActivityCancellationType.TRY_CANCEL,
      ...options,
    }),
    writes: (callId, ofThisCall = {}) =>
      proxyActivities<EndpointActivities>({
        ...SHARED,
        scheduleToCloseTimeout: '23h',
        cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        ...options,
        ...ofThisCall,
        activityId: callId,
      }),
  };
}
