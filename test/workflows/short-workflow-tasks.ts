import type { WorkflowClientInterceptor } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';

const workflowTaskTimeout = msToTs('2 seconds');

/**
 * Where a worker is taken away, a workflow task that was on its way to it comes
 * back after two seconds, and not after the server's default of ten.
 */
export const shortWorkflowTasks: WorkflowClientInterceptor = {
  startWithDetails: (input, next) =>
    next({ ...input, options: { ...input.options, workflowTaskTimeout } }),
};
