import { readConfig } from './config.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { createMetrics } from './lib/metrics.ts';
import { startProbeServer } from './lib/probe-server.ts';
import { runProcess } from './lib/process.ts';
import { TEMPORAL_VARIABLES } from './temporal/client.ts';
import { createDataConverter } from './temporal/data-converter.ts';
import { installTemporalRuntime } from './temporal/runtime.ts';
import { connectTemporal } from './temporal/worker-connection.ts';
import { parseWorkerQueues, type WorkerQueue } from './temporal/worker-queues.ts';
import { createWorkers } from './temporal/workers.ts';
import { loadWorkflowBundle } from './temporal/workflow-bundle.ts';

/** Runs workflows and activities of the queues in WORKER_QUEUES; as many such processes as the load needs. */
await runProcess('worker', async (logger) => {
  const config = readConfig([
    ...TEMPORAL_VARIABLES,
    'WORKER_QUEUES',
    'WORKER_HOST',
    'WORKER_PORT',
    'HIE_RATE_PER_SECOND',
    'PHARMACY_RATE_PER_SECOND',
    'LAB_RATE_PER_SECOND',
  ]);
  const queues = parseWorkerQueues(config.WORKER_QUEUES);
  installTemporalRuntime(logger);
  const [connection, workflowBundle] = await Promise.all([connectTemporal(config), loadWorkflowBundle()]);
  const activities: Partial<Record<WorkerQueue, object>> = Object.fromEntries(
    queues.map((queue) => [queue, {}]),
  );
  const workers = await createWorkers({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    dataConverter: createDataConverter(parseKeyRing(config.DATA_KEYS)),
    workflowBundle,
    activities,
    sourceRatePerSecond: {
      hie: config.HIE_RATE_PER_SECOND,
      pharmacy: config.PHARMACY_RATE_PER_SECOND,
      lab: config.LAB_RATE_PER_SECOND,
    },
  });
  const ended = Promise.all(workers.map((worker) => worker.run()));
  const probes = await startProbeServer({
    host: config.WORKER_HOST,
    port: config.WORKER_PORT,
    metrics: createMetrics('worker'),
    isReady: () => workers.every((worker) => worker.getState() === 'RUNNING'),
  });
  logger.info({ queues, probes: probes.url }, 'worker is ready');
  return {
    ended: ended.then(() => undefined),
    stop: async () => {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
      await Promise.all([connection.close(), probes.close()]);
    },
  };
});
