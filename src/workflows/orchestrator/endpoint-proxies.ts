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

/** The operations that only look. */
export type ReadProxies = Pick<ActivityInterfaceFor<EndpointActivities>, ReadName>;
/** The operations that may change something. */
export type WriteProxies = Omit<ActivityInterfaceFor<EndpointActivities>, ReadName>;

export interface EndpointProxies {
  /** They can be left at any time: given up after two minutes, and at once when the workflow is cancelled. */
  readonly reads: ReadProxies;
  /**
   * They are repeated for up to 23 hours, for exchanges keep an idempotency key for 24. One under way is let finish when
   * the workflow is cancelled: its outcome must be known to clean up after it.
   *
   * `callId` names the call, once for each call of a workflow id: the idempotency key is made of both. So a reset, or a
   * run that was continued as new, makes the same call and not another one.
   */
  writes(callId: string, options?: ActivityOptions): WriteProxies;
}

const SHARED: ActivityOptions = {
  // The client gives up a call after 20 s and says why.
  startToCloseTimeout: '30s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
};

/**
 * The operations of the interface as activities. They run on the task queue of the workflow, unless `options` name
 * another; each option replaces the one that stands here.
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
