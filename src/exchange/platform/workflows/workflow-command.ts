import {
  type Client,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { isPausedInTemporal } from '../../../temporal/open-runs.ts';
import { ConflictError, UnavailableError } from '../errors.ts';

/** How long to wait for a workflow to complete an update, in milliseconds. */
const COMMAND_TIMEOUT_MS = 15_000;

/**
 * How long to wait for what needs no worker, such as a description or a
 * termination.
 */
const SERVER_TIMEOUT_MS = 3_000;

/**
 * How often a workflow task must have failed or timed out before its workflow
 * counts as stuck.
 */
const STUCK_AFTER_TRIES = 2;
/**
 * How many command timeouts a workflow task must have waited for a worker
 * before its workflow counts as stuck.
 */
const STUCK_AFTER_TIMEOUTS = 4;

/**
 * What became of a command. `closed`: the workflow is not running. `stuck`: its
 * code fails again and again (a faulty deploy), or no worker of its build runs;
 * the caller does what the command asks for in the database, and replaces the
 * workflow.
 */
export type WorkflowCommandOutcome = 'taken' | 'closed' | 'stuck';

/**
 * Sends an update to a workflow and waits for its completion. Throws
 * ConflictError if the workflow rejects the update, or is paused in Temporal;
 * UnavailableError if Temporal or its workers do not respond.
 */
export async function commandWorkflow(
  temporal: Client,
  workflowId: string,
  name: string,
  options: { argument?: object; timeoutMs?: number } = {},
): Promise<WorkflowCommandOutcome> {
  const handle = temporal.workflow.getHandle(workflowId);
  const { argument, timeoutMs = COMMAND_TIMEOUT_MS } = options;
  try {
    await temporal.withDeadline(Date.now() + timeoutMs, () =>
      handle.executeUpdate<void, [object | undefined]>(name, {
        args: [argument],
      }),
    );
    return 'taken';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return 'closed';
    if (error instanceof WorkflowUpdateFailedError)
      throw new ConflictError(
        error.cause?.message ?? 'Not possible in the current state',
      );
    if (isPausedInTemporal(error))
      throw new ConflictError(
        'An operator has paused this work in Temporal; repeat the operation when it goes on',
      );
    // The server refuses updates while workflow tasks fail, or the update waits
    // for a task that never completes.
    if (await isStuck(temporal, handle, timeoutMs)) return 'stuck';
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw new UnavailableError(
        'The operation was not confirmed in time and may still take effect; check the status before you repeat it',
        { cause: error },
      );
    }
    throw new UnavailableError(
      'The workflow service cannot be reached now; try again shortly',
      {
        cause: error,
      },
    );
  }
}

async function isStuck(
  temporal: Client,
  handle: WorkflowHandle,
  timeoutMs: number,
): Promise<boolean> {
  try {
    const deadlineAt = Date.now() + Math.min(timeoutMs, SERVER_TIMEOUT_MS);
    const { raw } = await temporal.withDeadline(deadlineAt, () =>
      handle.describe(),
    );
    const { pendingWorkflowTask } = raw;
    if (pendingWorkflowTask == null) return false;
    if ((pendingWorkflowTask.attempt ?? 0) > STUCK_AFTER_TRIES) return true;
    const { originalScheduledTime, startedTime } = pendingWorkflowTask;
    if (originalScheduledTime == null || startedTime != null) return false;
    const waitedMs = Date.now() - Number(originalScheduledTime.seconds) * 1_000;
    return waitedMs > STUCK_AFTER_TIMEOUTS * timeoutMs;
  } catch {
    return false;
  }
}

/** For a start of a workflow that failed. */
export const unavailable = (cause: unknown): never => {
  throw new UnavailableError(
    'The workflow service cannot be reached now; try again later',
    { cause },
  );
};

/** Closes a stuck workflow whose work has ended in the database. */
export async function endStuckWorkflow(
  temporal: Client,
  workflowId: string,
): Promise<void> {
  try {
    await temporal.withDeadline(Date.now() + SERVER_TIMEOUT_MS, () =>
      temporal.workflow
        .getHandle(workflowId)
        .terminate('Its work was ended on request while it was stuck'),
    );
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
