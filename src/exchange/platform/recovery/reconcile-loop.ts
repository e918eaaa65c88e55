import {
  type Client,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
} from '@temporalio/client';
import {
  RECONCILE_LOOP_MESSAGES,
  type ReconcileLoopInput,
} from '../../../contract/reconcile-workflow.ts';
import {
  RECONCILE_WORKFLOW_ID,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';

/** How often a worker makes sure that the loop still runs. */
const CHECK_EVERY_MS = 60_000;
/**
 * A run that makes no progress any more, because a change does not replay, ends
 * after this time; a new one is started then.
 */
const RUN_TIMEOUT = '1 day';

const startOptions = (input: ReconcileLoopInput) => ({
  workflowId: RECONCILE_WORKFLOW_ID,
  taskQueue: TASK_QUEUES.exchange,
  args: [input] as [ReconcileLoopInput],
  workflowRunTimeout: RUN_TIMEOUT,
  workflowIdReusePolicy: WorkflowIdReusePolicy.ALLOW_DUPLICATE,
  staticSummary: 'Completes work that a crash or an outage left unfinished',
});

/**
 * Starts the workflow `reconcileLoop`, or has the running one make a round now
 * and adopt the interval. Several workers may call it concurrently; Temporal
 * runs only one workflow with this id.
 */
export async function startReconcileLoop(
  temporal: Client,
  intervalSeconds: number,
): Promise<void> {
  const intervalMs = intervalSeconds * 1_000;
  await temporal.workflow.signalWithStart(WORKFLOW_TYPES.reconcileLoop, {
    ...startOptions({ intervalMs }),
    signal: RECONCILE_LOOP_MESSAGES.roundDue,
    signalArgs: [intervalMs],
  });
}

/**
 * Starts the loop again whenever it was ended, for example terminated by an
 * operator. Returns a function that stops this.
 */
export function keepReconcileLoop(
  deps: { temporal: Client; logger: Pick<Logger, 'warn'> },
  {
    intervalSeconds,
    checkEveryMs = CHECK_EVERY_MS,
  }: { intervalSeconds: number; checkEveryMs?: number },
): () => void {
  const { temporal, logger } = deps;
  async function check(): Promise<void> {
    try {
      if (await isRunning(temporal)) return;
      await temporal.workflow.start(WORKFLOW_TYPES.reconcileLoop, {
        ...startOptions({ intervalMs: intervalSeconds * 1_000 }),
        workflowIdConflictPolicy: 'USE_EXISTING',
      });
    } catch (err) {
      logger.warn({ err }, 'the workflow reconcileLoop could not be checked');
    }
  }
  const timer = setInterval(() => void check(), checkEveryMs);
  return () => clearInterval(timer);
}

/**
 * Whether the loop runs. Asked before each start, because one that meets it
 * leaves a batch of history (temporalio/temporal#12103).
 */
async function isRunning(temporal: Client): Promise<boolean> {
  try {
    const handle = temporal.workflow.getHandle(RECONCILE_WORKFLOW_ID);
    const { closeTime } = await handle.describe();
    return closeTime === undefined;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
