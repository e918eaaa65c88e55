import {
  type Client,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
  WorkflowUpdateRPCTimeoutOrCancelledError,
} from '@temporalio/client';
import type { SourceCommand } from '../../contract/network-query-workflow.ts';
import { networkQueryWorkflowId } from '../../contract/temporal.ts';
import { ConflictError, UnavailableError } from '../errors.ts';

/** Milliseconds that a caller waits for a running workflow to take a command. */
const COMMAND_TIMEOUT_MS = 15_000;

/**
 * Sends an update to the workflow of one run and waits until it is done; false when no such workflow runs.
 * ConflictError: it refused. UnavailableError: Temporal or its workers did not answer.
 */
export async function commandWorkflow(
  temporal: Client,
  { requestId, run }: { requestId: string; run: number },
  name: string,
  argument?: SourceCommand,
  timeoutMs = COMMAND_TIMEOUT_MS,
): Promise<boolean> {
  const handle = temporal.workflow.getHandle(networkQueryWorkflowId(requestId, run));
  try {
    await temporal.withDeadline(Date.now() + timeoutMs, () =>
      handle.executeUpdate<void, [SourceCommand | undefined]>(name, { args: [argument] }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    if (error instanceof WorkflowUpdateFailedError)
      throw new ConflictError(error.cause?.message ?? 'Not possible now');
    if (error instanceof WorkflowUpdateRPCTimeoutOrCancelledError) {
      throw new UnavailableError(
        'The query did not take the command in time; read its status before repeating it',
      );
    }
    throw new UnavailableError('The workflow service cannot be reached now; try again', { cause: error });
  }
}
