import { Counter } from 'prom-client';
import { readConfig } from './config.ts';
import { TASK_QUEUES } from './contract/temporal.ts';
import {
  keepReconcileLoop,
  startReconcileLoop,
} from './exchange/platform/recovery/reconcile-loop.ts';
import { exitWithParent, reportReady } from './lib/exit-with-parent.ts';
import { parseKeyRing } from './lib/key-ring.ts';
import { createMetrics } from './lib/metrics.ts';
import { startProbeServer } from './lib/probe-server.ts';
import { runProcess } from './lib/process.ts';
import { createTemporalClient, TEMPORAL_VARIABLES } from './temporal/client.ts';
import { certificatesReplaced } from './temporal/credentials.ts';
import { createDataConverter } from './temporal/data-converter.ts';
import { ensureSearchAttributes } from './temporal/register-search-attributes.ts';
import { installTemporalRuntime } from './temporal/runtime.ts';
import { isBackgroundOnly, parseWorkerQueues } from './temporal/task-queues.ts';
import { connectTemporal } from './temporal/worker-connection.ts';
import { createWorkers } from './temporal/workers.ts';
import { hashOfBuild, loadWorkflowBundle } from './temporal/workflow-bundle.ts';
import { openExchangeService } from './worker/exchange-service.ts';
import { openOrchestratorService } from './worker/orchestrator-service.ts';
import { poolWarning } from './worker/pool-size.ts';
import { replacement, settleRouting } from './worker/routing.ts';
import { yieldToOthers } from './worker/yield-to-others.ts';

const VARIABLES = [
  ...TEMPORAL_VARIABLES,
  'DATABASE_POOL_MAX',
  'WORKER_QUEUES',
  'WORKER_VERSIONING',
  'BUILD_ID',
  'LISTEN_HOST',
  'WORKER_PORT',
  'WORKER_TEMPORAL_METRICS',
  'RECONCILE_INTERVAL_SECONDS',
] as const;

/**
 * Runs the workflows and activities of the task queues in WORKER_QUEUES. Start
 * as many of these as the load requires.
 */
await runProcess('worker', async (logger) => {
  exitWithParent();
  const config = readConfig(VARIABLES);
  const queues = parseWorkerQueues(config.WORKER_QUEUES);
  const tooFewConnections = poolWarning(queues, config.DATABASE_POOL_MAX);
  if (tooFewConnections !== undefined) logger.warn(tooFewConnections);
  const keyRing = parseKeyRing(config.DATA_KEYS);
  if (keyRing.acceptsPlain)
    logger.warn('DATA_KEYS: payloads that are not encrypted are accepted');
  installTemporalRuntime(logger, config.WORKER_TEMPORAL_METRICS);
  // Lazy, so that configuration errors of the services are reported first, even
  // without a Temporal server.
  const temporal = await createTemporalClient(config, { lazy: true });
  const metrics = createMetrics('worker');
  const refused = new Counter({
    name: 'temporal_payloads_refused_total',
    help: 'Inputs of workflows and activities that were refused because they were not encrypted',
    registers: [metrics],
  });
  const versioning = config.WORKER_VERSIONING;
  const build = config.BUILD_ID ?? (await hashOfBuild());
  const isReplaced = replacement({ versioning, build }, temporal);
  const deps = { logger, temporal, metrics, isReplaced };
  const services = [
    ...(queues.some((queue) => queue !== TASK_QUEUES.orchestrator)
      ? [await openExchangeService(deps)]
      : []),
    ...(queues.includes(TASK_QUEUES.orchestrator)
      ? [await openOrchestratorService()]
      : []),
  ];
  const [connection, workflowBundle] = await Promise.all([
    connectTemporal(config),
    loadWorkflowBundle(),
    ensureSearchAttributes(temporal.connection, config.TEMPORAL_NAMESPACE),
  ]);

  const hosted = Object.entries(
    Object.assign({}, ...services.map(({ activities }) => activities)),
  );
  const workers = await createWorkers({
    connection,
    namespace: config.TEMPORAL_NAMESPACE,
    dataConverter: createDataConverter(keyRing),
    workflowBundle,
    build: versioning === 'off' ? undefined : build,
    activities: Object.fromEntries(
      hosted.filter(([queue]) => queues.some((served) => served === queue)),
    ),
    onRefused: (what) => {
      refused.inc();
      for (const { recordRefusal } of services) recordRefusal?.(what);
    },
  });
  const ended = Promise.all(workers.map((worker) => worker.run()));
  const hostsReconcile = queues.includes(TASK_QUEUES.exchange);
  const intervalSeconds = config.RECONCILE_INTERVAL_SECONDS;
  if (hostsReconcile) await startReconcileLoop(temporal, intervalSeconds);
  const stopKeeping = hostsReconcile
    ? keepReconcileLoop({ temporal, logger }, { intervalSeconds })
    : undefined;

  const stopping = new AbortController();
  const routed = settleRouting(
    { versioning, build },
    { temporal, logger, signal: stopping.signal },
  ).catch((err: unknown) =>
    logger.error(
      { err, build },
      'could not check which build is current in Temporal',
    ),
  );
  const probes = await startProbeServer({
    host: config.LISTEN_HOST,
    port: config.WORKER_PORT,
    metrics,
    isReady: () => workers.every((worker) => worker.getState() === 'RUNNING'),
  });
  if (isBackgroundOnly(queues)) yieldToOthers();
  logger.info(
    { queues, versioning, build, probes: probes.url },
    'worker is ready',
  );
  reportReady({ probes: probes.url });
  return {
    ended: Promise.race([ended.then(() => undefined), certificatesReplaced()]),
    stop: async () => {
      stopping.abort();
      await routed;
      stopKeeping?.();
      for (const worker of workers)
        if (worker.getState() === 'RUNNING') worker.shutdown();
      await ended;
      await Promise.all(services.map((service) => service.close()));
      await Promise.all([
        temporal.connection.close(),
        connection.close(),
        probes.close(),
      ]);
    },
  };
});
