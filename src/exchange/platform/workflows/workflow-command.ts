import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ConflictError, UnavailableError } from '../errors.ts';

/** How long to wait for a workflow to complete an update, in milliseconds. */
const COMMAND_TIMEOUT_MS = 15_000;

/**
 * Sends an update to a workflow and waits for its completion. Returns false if the workflow is not running. Throws
 * ConflictError if the workflow rejects the update, UnavailableError if Temporal or its workers do not respond.
 */
export async function commandWorkflow(
  temporal: Client,
  workflowId: string,
  name: string,
  options: { argument?: object; timeoutMs?: number } = {},
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
