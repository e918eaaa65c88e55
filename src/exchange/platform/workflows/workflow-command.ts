import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import { ConflictError, UnavailableError } from '../errors.ts';

/** Milliseconds that a caller waits for a running workflow to take a command. */
const COMMAND_TIMEOUT_MS = 15_000;

/**
 * Sends an update to a workflow and waits until it is done; false when no such workflow runs.
 * ConflictError: it refused. UnavailableError: Temporal or its workers did not answer.
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
      throw new ConflictError(error.cause?.message ?? 'Not possible now');
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw new UnavailableError('The command was not taken in time; read the status before you repeat it');
    }
    throw new UnavailableError('The workflow service cannot be reached now; try again', { cause: error });
  }
}
