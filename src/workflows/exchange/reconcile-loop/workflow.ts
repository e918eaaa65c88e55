import {
  ActivityFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { ReconcileActivities } from '../../../activities/exchange/reconcile.ts';
import {
  RECONCILE_LOOP_MESSAGES as MESSAGES,
  RECONCILE_PARTS,
  type Reconciled,
  type ReconcileLoopInput,
  type ReconcileLoopStatus,
} from '../../../contract/reconcile-workflow.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { rowActivities } from '../../shared/failures.ts';

const ROUND = {
  startToCloseTimeout: '4 minutes',
  heartbeatTimeout: '30 seconds',
  // The next round soon does the same.
  retry: { maximumAttempts: 2 },
  summary: 'Complete work that a crash left unfinished',
} as const;
const { setReconcilePaused } = rowActivities<
  Pick<ReconcileActivities, 'setReconcilePaused'>
>('Write the pause, or its end, into PostgreSQL');
/** The longest wait for a background worker, if the interval is longer. */
const WORKER_AWAITED_MS = 60_000;

/** About ten events per round. */
const ROUNDS_MAX = 500;
/**
 * Well before the run times out, see reconcile-loop.ts in
 * exchange/platform/recovery.
 */
const RUN_MS = 12 * 60 * 60_000;
/** Wait before the next round if there is more to do. */
const BEHIND_MS = 1_000;

/**
 * Makes a round as background work. If no such worker takes it, because they
 * are busy or missing, makes it on the queue of this workflow.
 */
async function reconcileLeftOvers({
  intervalMs,
  last,
}: ReconcileLoopStatus): Promise<Reconciled> {
  const inBackground = proxyActivities<ReconcileActivities>({
    ...ROUND,
    taskQueue: TASK_QUEUES.background(TASK_QUEUES.exchange),
    scheduleToStartTimeout: Math.min(intervalMs, WORKER_AWAITED_MS),
  });
  try {
    return await inBackground.reconcileLeftOvers(last);
  } catch (error) {
    if (!hasNotStarted(error)) throw error;
    return proxyActivities<ReconcileActivities>(ROUND).reconcileLeftOvers(last);
  }
}

const hasNotStarted = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

/**
 * Regularly completes work that was committed but then interrupted, for example
 * accepted queries without a workflow and events without a delivery.
 *
 * Durable because it must run as long as the system does, and never twice at
 * once. One execution with a fixed id; workers start it, and start it again if
 * it was ended. Every round may run twice. Continues as new after 500 rounds or
 * 12 hours. A pause is a row in PostgreSQL, which each round reads: rounds go
 * on, and do nothing.
 */
export async function reconcileLoop(input: ReconcileLoopInput): Promise<void> {
  const status: ReconcileLoopStatus = {
    intervalMs: input.intervalMs,
    isPaused: false,
    last: input.last,
  };
  const describe = () => setCurrentDetails(describeStatus(status));
  let isDue = false;
  /** A pause, or its end, that is not in PostgreSQL yet. */
  let ordered: boolean | undefined;
  async function storeOrder(): Promise<void> {
    if (ordered === undefined) return;
    const isPaused = ordered;
    ordered = undefined;
    await setReconcilePaused(isPaused);
  }

  setHandler(defineQuery<ReconcileLoopStatus>(MESSAGES.status), () => status);
  setHandler(defineSignal<[number]>(MESSAGES.roundDue), (intervalMs) => {
    status.intervalMs = intervalMs;
    isDue = true;
  });
  setHandler(defineSignal(MESSAGES.pause), () => {
    status.isPaused = true;
    ordered = true;
    isDue = true;
    describe();
  });
  setHandler(defineSignal(MESSAGES.resume), () => {
    status.isPaused = false;
    ordered = false;
    isDue = true;
    describe();
  });

  const mayGoOn = () =>
    !workflowInfo().continueAsNewSuggested &&
    Date.now() - workflowInfo().runStartTime.getTime() < RUN_MS;
  for (let rounds = 0; rounds < ROUNDS_MAX && mayGoOn(); rounds++) {
    isDue = false;
    try {
      await storeOrder();
      status.last = await reconcileLeftOvers(status);
      status.failure = undefined;
      status.isPaused =
        ordered ??
        RECONCILE_PARTS.every((part) => status.last?.paused?.includes(part));
    } catch (error) {
      if (isCancellation(error)) throw error;
      status.failure = 'The round did not end; see the log of the worker';
    }
    status.lastRoundAt = new Date().toISOString();
    describe();
    const isBehind =
      status.failure === undefined && status.last?.isBehind === true;
    await condition(() => isDue, isBehind ? BEHIND_MS : status.intervalMs);
  }
  // Another order may come while one is being stored.
  while (ordered !== undefined) await storeOrder();
  const { intervalMs, last } = status;
  // A stored pause is not carried: an operator may have ended it in PostgreSQL
  // meanwhile.
  await continueAsNew<typeof reconcileLoop>({ intervalMs, last });
}

/**
 * Markdown for the workflow's page in the Temporal UI. A list, because the UI
 * shows tables without cell spacing.
 */
function describeStatus(status: ReconcileLoopStatus): string {
  const { isPaused, lastRoundAt, last, failure } = status;
  const paused =
    last?.paused?.join(' and ') ??
    (isPaused ? 'deleting and healing' : undefined);
  const state =
    paused === undefined
      ? undefined
      : `**Paused: ${paused}.** Continue all with the signal \`resume\`.`;
  const round =
    lastRoundAt === undefined ? undefined : `Last round: ${lastRoundAt}`;
  const kinds = Object.entries(last?.kinds ?? {}).map(
    ([kind, { found, healed, failed, oldestSeconds }]) => {
      const age =
        oldestSeconds === undefined ? [] : [`oldest ${oldestSeconds} s`];
      return `- **${kind}**: ${[`${found} found`, `${healed} healed`, `${failed} failed`, ...age].join(' · ')}`;
    },
  );
  const suspicion =
    last?.suspicion === undefined
      ? undefined
      : `**${last.suspicion}**: probably a restore; all open work is looked at again.`;
  const outcome =
    failure ??
    (kinds.length > 0 ? kinds.join('\n') : 'Nothing was unfinished.');
  return [
    state,
    round,
    suspicion,
    lastRoundAt === undefined ? undefined : outcome,
  ]
    .filter((part) => part !== undefined)
    .join('\n\n');
}
