import {
  type Client,
  type WorkflowHandle,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ConflictError, UnavailableError } from '../errors.ts';

/** How long to wait for a workflow to complete an update, in milliseconds. */
const COMMAND_TIMEOUT_MS = 15_000;

/** How often a workflow task must have failed or timed out before its workflow counts as stuck. */
const STUCK_AFTER_TRIES = 2;

/**
 * Sends an update to a workflow and waits for its completion. Returns false if the workflow is not running. Throws
 * ConflictError if the workflow rejects the update, UnavailableError if Temporal or its workers do not respond.
 *
 * @param options.endIfStuck for a command that ends the work: a workflow whose code fails again and again (a faulty deploy)
 *   cannot take it. It is terminated, and the result is false, so that the caller ends the work in the database.
 */
export async function commandWorkflow(
  temporal: Client,
  workflowId: string,
  name: string,
  options: { argument?: object; timeoutMs?: number; endIfStuck?: boolean } = {},
): Promise<boolean> {
  const handle = temporal.workflow.getHandle(workflowId);
  try {
    await temporal.withDeadline(Date.now() + (options.timeoutMs ?? COMMAND_TIMEOUT_MS), () =>
      handle.executeUpdate<void, [object | undefined]>(name, { args: [options.argument] }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    if (error instanceof WorkflowUpdateFailedError)
      throw new ConflictError(error.cause?.message ?? 'Not possible in the current state');
    // The server refuses updates while workflow tasks fail, or the update waits for a task that never completes.
    if (options.endIfStuck === true && (await terminateIfStuck(handle))) return false;
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw new UnavailableError(
        'The operation was not confirmed in time and may still take effect; check the status before you repeat it',
      );
    }
    throw new UnavailableError('The workflow service cannot be reached now; try again shortly', {
      cause: error,
    });
  }
}

/** Returns whether the workflow was stuck, and is now closed. */
async function terminateIfStuck(handle: WorkflowHandle): Promise<boolean> {
  try {
    const { raw } = await handle.describe();
    if ((raw.pendingWorkflowTask?.attempt ?? 0) <= STUCK_AFTER_TRIES) return false;
    await handle.terminate('Ended on request while its code failed again and again');
    return true;
  } catch (error) {
    return error instanceof WorkflowNotFoundError;
  }
}
