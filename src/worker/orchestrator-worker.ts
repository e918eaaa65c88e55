import { Worker } from '@temporalio/worker';
import { createEndpointActivities } from '../activities/orchestrator/endpoints.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import { createLogger } from '../lib/logger.ts';
import { installTracer, type Tracer } from '../lib/tracing/spans.ts';
import { startTracing } from '../lib/tracing/start-tracing.ts';
import { openExchange } from '../orchestrator/exchange-access.ts';
import { createDataConverter } from '../temporal/data-converter.ts';
import { connectTemporal } from '../temporal/worker-connection.ts';
import {
  interceptionOptions,
  ORCHESTRATOR_WORKER_OPTIONS,
  WORKFLOW_INTERCEPTORS,
} from '../temporal/workers.ts';

const ID_HMAC_KEY_LENGTH_MIN = 16;

export interface OrchestratorWorkerOptions {
  temporal: { address: string; namespace: string; apiKey?: string; tls?: boolean };
  /** Your own task queue. `TASK_QUEUES.orchestrator` is served by our worker. */
  taskQueue: string;
  /** The file that exports your workflows. Re-export `patientOnboarding` there to run it too. */
  workflowsPath: string;
  /** Your own activities, in addition to the endpoint activities. */
  activities?: object;
  exchange: {
    baseUrl: string;
    apiKey: string;
    /** Whether the exchange supports `Idempotency-Key`. Default true. With false, ambiguous writes are not retried. */
    idempotency?: boolean;
  };
  /** Keys that encrypt what Temporal stores: `id:<base64 of 32 bytes>`, separated by blanks; the first one encrypts. */
  dataKeys: string;
  /** Key for idempotency keys: at least 16 random characters, the same for all workers of the task queue. */
  idHmacKey: string;
}

export interface OrchestratorWorker {
  /** Runs until `shutdown`, SIGINT or SIGTERM. Running activities then have 20 s to finish, and connections are closed. */
  run(): Promise<void>;
  shutdown(): void;
}

/**
 * Creates a worker for workflows that use the interface. It hosts your workflows, the endpoint activities (called with
 * `proxyEndpoints`) and your own activities. Sends traces if OTEL_EXPORTER_OTLP_ENDPOINT is set. Throws when Temporal cannot be reached or the workflow code cannot be bundled.
 */
export async function createOrchestratorWorker(
  options: OrchestratorWorkerOptions,
): Promise<OrchestratorWorker> {
  const { temporal, exchange, taskQueue, workflowsPath } = options;
  if (options.idHmacKey.length < ID_HMAC_KEY_LENGTH_MIN)
    throw new TypeError(`idHmacKey must have at least ${ID_HMAC_KEY_LENGTH_MIN} characters`);
  const dataConverter = createDataConverter(parseKeyRing(options.dataKeys));
  const access = openExchange({
    EXCHANGE_BASE_URL: exchange.baseUrl,
    EXCHANGE_API_KEY: exchange.apiKey,
    EXCHANGE_IDEMPOTENCY: exchange.idempotency ?? true,
    EXCHANGE_ACCOUNT_ID: undefined,
  });
  const endpointActivities = createEndpointActivities({
    clientFor: access.clientFor,
    idHmacKey: options.idHmacKey,
  });
  const activities = withoutClash(endpointActivities, options.activities ?? {});
  const connection = await connectTemporal({
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    TEMPORAL_API_KEY: temporal.apiKey,
    tls: temporal.tls,
    DATA_KEYS: options.dataKeys,
  });
  const stopTracing = await shareTracing(taskQueue).catch(async (error: unknown) => {
    await Promise.all([connection.close(), access.close()]);
    throw error;
  });
  const close = () => Promise.all([connection.close(), access.close(), stopTracing()]);
  try {
    const interception = interceptionOptions();
    const worker = await Worker.create({
      ...ORCHESTRATOR_WORKER_OPTIONS,
      ...interception,
      interceptors: { ...interception.interceptors, workflowModules: WORKFLOW_INTERCEPTORS },
      connection,
      namespace: temporal.namespace,
      dataConverter,
      taskQueue,
      workflowsPath,
      activities,
    });
    return {
      run: () => worker.run().finally(close),
      shutdown: () => worker.shutdown(),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function withoutClash(endpointActivities: object, own: object): object {
  const taken = Object.keys(own).filter((name) => name in endpointActivities);
  if (taken.length > 0)
    throw new TypeError(
      `Rename these activities, because operations of the interface have the same names: ${taken.join(', ')}`,
    );
  return { ...endpointActivities, ...own };
}

let shared: { tracer: Promise<Tracer | undefined>; workers: number } | undefined;

/**
 * Switches traces on for workers in a process that is not ours, and returns what a worker calls at its end: the last one sends
 * what is left. Throws ConfigError if a variable is invalid.
 */
async function shareTracing(serviceName: string): Promise<() => Promise<void>> {
  shared ??= { tracer: startTracing(serviceName, createLogger(serviceName)), workers: 0 };
  const mine = shared;
  mine.workers += 1;
  const leave = async () => {
    mine.workers -= 1;
    if (mine.workers > 0) return;
    shared = undefined;
    installTracer(undefined);
    await mine.tracer.then(
      (tracer) => tracer?.stop(),
      () => undefined,
    );
  };
  await mine.tracer.catch(async (error: unknown) => {
    await leave();
    throw error;
  });
  return leave;
}
