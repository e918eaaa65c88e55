import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';

/**
 * The memo of a workflow that was started before, running or ended; undefined
 * when Temporal knows none. Asked before each start: one that meets a workflow
 * with its id is refused, and its input still stays in Temporal for the
 * namespace's retention, out of reach of any deletion
 * (temporalio/temporal#12103).
 */
export async function memoOfEarlier(
  handle: WorkflowHandle,
): Promise<Record<string, unknown> | undefined> {
  try {
    return (await handle.describe()).memo ?? {};
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}
