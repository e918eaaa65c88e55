import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { TASK_QUEUES } from '../../src/contract/temporal.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { installTestRuntime } from './temporal-runtime.ts';
import { testKeyRing } from './test-keys.ts';

const WORKFLOW = fileURLToPath(
  new URL('./monitoring-workflow.ts', import.meta.url),
);

/**
 * Runs what monitoring schedules start, with a stand-in for the workflow.
 * Resolves to what stops it.
 */
export async function startMonitoringWorker(
  address: string,
  namespace = 'default',
): Promise<() => Promise<void>> {
  installTestRuntime();
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: TASK_QUEUES.orchestrator,
    workflowBundle: await loadWorkflowBundle(WORKFLOW),
    dataConverter: createDataConverter(testKeyRing()),
  });
  const running = worker.run();
  return async () => {
    worker.shutdown();
    await running;
    await connection.close();
  };
}
