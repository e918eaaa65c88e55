import type { ServiceError } from '@temporalio/client';

/**
 * Visibility query: runs that have not ended. Those that an operator has paused
 * in Temporal are not `Running`.
 */
export const OPEN_RUNS = "ExecutionStatus IN ('Running', 'Paused')";

const GRPC_FAILED_PRECONDITION = 9;

/** Whether Temporal refused an update because its workflow is paused. */
export function isPausedInTemporal(error: unknown): boolean {
  const { code, details = '' } = ((error as ServiceError | undefined)?.cause ??
    {}) as { code?: number; details?: string };
  return code === GRPC_FAILED_PRECONDITION && /\bpaused\b/.test(details);
}
