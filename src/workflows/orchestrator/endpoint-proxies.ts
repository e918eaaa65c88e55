import {
  ActivityCancellationType,
  type ActivityInterfaceFor,
  type ActivityOptions,
  ApplicationFailure,
  proxyActivities,
  workflowInfo,
} from '@temporalio/workflow';
import type { EndpointActivities } from '../../activities/orchestrator/endpoints.ts';
import type { EndpointName, endpoints } from '../../contract/endpoints.ts';

type ReadName = {
  [N in EndpointName]: (typeof endpoints)[N]['method'] extends 'GET'
    ? N
    : never;
}[EndpointName];

/** The operations that only read (GET). */
export type ReadProxies = Pick<
  ActivityInterfaceFor<EndpointActivities>,
  ReadName
>;
/** The operations that may change something. */
export type WriteProxies = Omit<
  ActivityInterfaceFor<EndpointActivities>,
  ReadName
>;

export interface EndpointProxies {
  /**
   * Reads. They fail after two minutes, and are abandoned at once when the
   * workflow is cancelled.
   */
  readonly reads: ReadProxies;
  /**
   * Writes. They are retried for up to 23 hours, because exchanges keep an
   * idempotency key for 24. When the workflow is cancelled, a write in progress
   * is allowed to finish: its outcome must be known before cleaning up after
   * it.
   *
   * @param callId unique among the calls of a workflow execution. The
   *   idempotency key is made of it, the workflow id and the id of the
   *   execution's first run, so a workflow that is reset or continued as new
   *   repeats the same call instead of making a second one, and another
   *   execution makes its own. A name whose call is under way or has succeeded
   *   throws ApplicationFailure `CallIdReused`; a failed call may be repeated
   *   under its name.
   */
  writes(callId: string, options?: ActivityOptions): WriteProxies;
}

const SHARED: ActivityOptions = {
  // Longer than the client's own timeout of 20 s, so that the client's error
  // says what failed.
  startToCloseTimeout: '30s',
  retry: {
    initialInterval: '1s',
    backoffCoefficient: 2,
    maximumInterval: '1m',
  },
};

/**
 * Makes the operations of the interface callable as activities. They run on the
 * workflow's own task queue unless `options.taskQueue` names another. Each
 * given option replaces the default for it.
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
      onceEach(
        callId,
        proxyActivities<EndpointActivities>({
          ...SHARED,
          scheduleToCloseTimeout: '23h',
          cancellationType:
            ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
          ...options,
          ...ofThisCall,
          activityId: callId,
        }),
      ),
  };
}

/**
 * Names of calls that are under way or have succeeded. Each workflow run has a
 * copy of this module of its own.
 */
const used = new Set<string>();

/**
 * Wraps the activities: each call uses up the call id, and names the execution
 * that makes it.
 */
function onceEach<Activities extends object>(
  callId: string,
  activities: Activities,
): Activities {
  async function once(call: (execution: string) => unknown): Promise<unknown> {
    if (used.has(callId))
      throw ApplicationFailure.nonRetryable(
        `writes('${callId}'): this name has been used by another call; give each call a name of its own`,
        'CallIdReused',
      );
    used.add(callId);
    try {
      return await call(workflowInfo().firstExecutionRunId);
    } catch (error) {
      used.delete(callId);
      throw error;
    }
  }
  return new Proxy(activities, {
    get(target, name) {
      const activity: unknown = Reflect.get(target, name);
      if (typeof activity !== 'function') return activity;
      const call = (input: object) =>
        once((execution) =>
          Reflect.apply(activity, target, [{ ...input, execution }]),
        );
      const executeWithOptions = (
        options: ActivityOptions,
        [input]: [object],
      ) => {
        const execute: unknown = Reflect.get(activity, 'executeWithOptions');
        if (typeof execute !== 'function')
          throw new TypeError('not an activity');
        return once((execution) =>
          Reflect.apply(execute, activity, [
            options,
            [{ ...input, execution }],
          ]),
        );
      };
      return Object.assign(call, { executeWithOptions });
    },
  });
}
