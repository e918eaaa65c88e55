import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { Agent } from 'undici';
import {
  createRecordActivities,
  createSourceActivities,
} from '../../src/activities/exchange/network-query.ts';
import { SEARCH_ATTRIBUTES, TASK_QUEUES } from '../../src/contract/temporal.ts';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { assembleExchange } from '../../src/exchange/assemble.ts';
import { seedDemoAccount } from '../../src/exchange/operations/admin/seed.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { createConnectors } from '../../src/exchange/sources/connectors/create-connector.ts';
import { freePort } from '../../src/lib/free-port.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { createLogger } from '../../src/lib/logger.ts';
import { createTemporalClient } from '../../src/temporal/client.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { installTemporalRuntime } from '../../src/temporal/runtime.ts';
import { connectTemporal } from '../../src/temporal/worker-connection.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { startNodeProcess } from '../../tools/embedded/child-process.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { startTemporalServer } from '../../tools/embedded/temporal-server.ts';
import { createSimulatorAdmin } from '../../tools/simulator/admin-client.ts';
import { BENCH_SETTINGS } from '../exchange-settings.ts';
import {
  createBareActivities,
  createBarePool,
  type SampleRecording,
} from './bare.ts';
import { createEnds } from './ends.ts';
import { callRecorder } from './recording.ts';

const BARE_QUEUE = 'bench-bare';
const TOKEN = 'bench-token-of-this-run';

/**
 * PostgreSQL, Temporal and the simulator as processes; client and both kinds of
 * worker in this one.
 */
export async function startEnvironment() {
  const started: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of started.reverse()) await end();
  };
  try {
    return { ...(await start((end) => started.push(end))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Everything that must end is given to `atEnd`, which ends it in the opposite
 * order.
 */
async function start(atEnd: (end: () => Promise<unknown>) => void) {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-query-'));
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
  });
  atEnd(() => postgres.stop());
  const temporalServer = await startTemporalServer({
    dataDir: join(dataDir, 'temporal'),
    logFile: join(dataDir, 'temporal.log'),
    searchAttributes: SEARCH_ATTRIBUTES,
  });
  atEnd(() => temporalServer.stop());
  const port = String(await freePort());
  const simulator = await startNodeProcess({
    name: 'simulator',
    entry: 'tools/simulator.ts',
    dataDir,
    env: {
      LOG_LEVEL: 'warn',
      SIMULATOR_PORT: port,
      SIMULATOR_ADMIN_TOKEN: TOKEN,
      HIE_BEARER_TOKEN: TOKEN,
      PHARMACY_BEARER_TOKEN: TOKEN,
      LAB_BEARER_TOKEN: TOKEN,
    },
  });
  atEnd(() => simulator.stop());
  const simulatorUrl = `http://127.0.0.1:${port}`;
  // The sources respond synchronously.
  await createSimulatorAdmin(simulatorUrl, TOKEN).changeSettings({
    hie: { async: false, callback: false },
  });

  const dataKeys = `bench:${randomBytes(32).toString('base64')}`;
  const temporalConfig = {
    TEMPORAL_ADDRESS: temporalServer.address,
    TEMPORAL_NAMESPACE: temporalServer.namespace,
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: dataKeys,
  };
  const logger = createLogger('bench', 'warn');
  installTemporalRuntime(logger, undefined);
  const temporal = await createTemporalClient(temporalConfig);
  atEnd(() => temporal.connection.close());
  const connection = await connectTemporal(temporalConfig);
  atEnd(() => connection.close());
  const blobStore = pathToFileURL(join(dataDir, 'blobs')).href;
  const exchange = await assembleExchange(
    {
      DATABASE_URL: postgres.databaseUrl,
      DATABASE_POOL_MAX: 20,
      BLOB_STORE: blobStore,
      DATA_KEYS: dataKeys,
      ...BENCH_SETTINGS,
    },
    temporal,
    logger,
  );
  atEnd(() => exchange.close());
  await exchange.store.migrate();
  const account = await seedDemoAccount(exchange.store, {
    apiKey: generateApiKey(),
    webhookKeys: createWebhookKeys(parseKeyRing(dataKeys)),
  });

  const source = (name: 'hie' | 'pharmacy' | 'lab') => ({
    source: name,
    baseUrl: `${simulatorUrl}/${name}/fhir`,
    auth: { kind: 'bearer' as const, token: TOKEN },
    callbacks: false,
  });
  const connectors = createConnectors(
    { hie: source('hie'), pharmacy: source('pharmacy'), lab: source('lab') },
    { dispatcher: new Agent().compose(callRecorder) },
  );
  const keyRing = parseKeyRing(dataKeys);
  const ends = createEnds();
  const activities = createSourceActivities({
    ...exchange,
    connectors,
    callbackBaseUrl: () => undefined,
    startGuard: createStartGuard(exchange.store),
  });
  const sourceActivities = {
    ...activities,
    askSource: ends.noting(
      activities.askSource,
      ({ state }) => state === 'completed',
    ),
  };
  const workers = await createWorkers({
    connection,
    namespace: temporalServer.namespace,
    dataConverter: createDataConverter(keyRing),
    workflowBundle: await loadWorkflowBundle(),
    activities: {
      [TASK_QUEUES.exchange]: createRecordActivities({
        ...exchange,
        connectors,
      }),
      'source-hie': sourceActivities,
      'source-pharmacy': sourceActivities,
      'source-lab': sourceActivities,
    },
  });
  const recordings = new Map<string, SampleRecording>();
  const barePool = createBarePool(postgres.databaseUrl);
  atEnd(() => barePool.end());
  const bareWorker = await Worker.create({
    connection,
    namespace: temporalServer.namespace,
    taskQueue: BARE_QUEUE,
    workflowBundle: await loadWorkflowBundle(
      join(import.meta.dirname, 'bare-workflow.ts'),
    ),
    activities: createBareActivities({ pool: barePool, recordings, ends }),
    maxConcurrentActivityTaskExecutions: 60,
    maxConcurrentWorkflowTaskExecutions: 20,
    maxCachedWorkflows: 200,
  });
  const running = Promise.all(
    [...workers, bareWorker].map((worker) => worker.run()),
  );
  atEnd(async () => {
    for (const worker of [...workers, bareWorker]) worker.shutdown();
    await running;
  });

  return {
    account,
    exchange,
    dataDir,
    databaseUrl: postgres.databaseUrl,
    postgresPid: postgres.pid,
    temporalPid: temporalServer.pid,
    recordings,
    sourceActivities,
    ends,
    temporal,
    bare: {
      queue: BARE_QUEUE,
      client: new Client({
        connection: temporal.connection,
        namespace: temporalServer.namespace,
      }),
    },
  };
}

export type Environment = Awaited<ReturnType<typeof startEnvironment>>;
