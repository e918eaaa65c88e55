import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';

let bundle: Promise<{ code: string }> | undefined;

/**
 * The workflow bundle for tests' workers: `Worker.create({ workflowBundle:
 * await workflowBundle(), … })`. Made once for all test files of the same
 * sources (kept on disk under their hash), so only the first file waits for it.
 */
export function workflowBundle(): Promise<{ code: string }> {
  bundle ??= loadWorkflowBundle();
  return bundle;
}
