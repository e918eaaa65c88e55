import type { ClientOptions, ClientPlugin } from '@temporalio/client';
import { type DataConverter, IllegalStateError } from '@temporalio/common';
import {
  type BundleOptions,
  type BundlerPlugin,
  DefaultLogger,
  type ReplayWorkerOptions,
  Runtime,
  type Worker,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import { type KeyRing, parseKeyRing } from '../lib/key-ring.ts';
import { createLogger } from '../lib/logger.ts';
import type { Tracer } from '../lib/tracing/spans.ts';
import { startTracing } from '../lib/tracing/start-tracing.ts';
import {
  type ExchangeConnection,
  openExchange,
} from '../orchestrator/exchange-access.ts';
import { openBlobStore } from '../shared/blobs/open-blob-store.ts';
import {
  CONVERTER_PATHS,
  createDataConverter,
} from '../temporal/data-converter.ts';
import { installTemporalRuntime } from '../temporal/runtime.ts';
import {
  interceptionOptions,
  ORCHESTRATOR_WORKER_OPTIONS,
  WORKFLOW_INTERCEPTORS,
} from '../temporal/workers.ts';
import { orchestratorActivities } from './orchestrator-service.ts';

const ID_HMAC_KEY_LENGTH_MIN = 16;

/** What a worker needs to call the exchange. */
export interface ExchangeOptions {
  exchange: {
    baseUrl: string;
    apiKey: string;
    /**
     * Whether the exchange supports `Idempotency-Key`. Default true. With
     * false, ambiguous writes are not retried.
     */
    idempotency?: boolean;
  };
  /**
   * Key for idempotency keys: at least 16 random characters, the same for all
   * workers of the task queue.
   */
  idHmacKey: string;
  /**
   * Storage for the files of `bulkOnboarding`, shared by all workers of the
   * queue: `file:///a/folder` or `s3://bucket/prefix`.
   */
  files?: string;
}

export interface ExchangePluginOptions {
  /**
   * Keys that encrypt what Temporal stores: `id:<base64 of 32 bytes>`,
   * separated by blanks; the first one encrypts.
   */
  dataKeys: string;
  /** For workers. Clients and replays need none of it. */
  worker?: ExchangeOptions;
}

/**
 * A plugin for the SDK's `Client`, `Worker` and bundler. Both get the data
 * converter; workers also the activities of our workflows and of all
 * operations, interceptors, and where yours state nothing, our times and
 * numbers of slots. Create it before the first `NativeConnection`: then the SDK
 * logs through a logger that leaves out the texts of failures, which may name a
 * person.
 */
export class ExchangePlugin
  implements ClientPlugin, WorkerPlugin, BundlerPlugin
{
  readonly name = 'medical-data-exchange';
  readonly #keyRing: KeyRing;
  readonly #dataConverter: DataConverter;
  readonly #worker: ExchangeOptions | undefined;
  #access: ExchangeConnection | undefined;
  #tracing: Promise<Tracer | undefined> | undefined;
  #running = 0;

  /**
   * Throws TypeError for an `idHmacKey` that is too short, and ConfigError for
   * invalid keys.
   */
  constructor({ dataKeys, worker }: ExchangePluginOptions) {
    this.#keyRing = parseKeyRing(dataKeys);
    this.#dataConverter = createDataConverter(this.#keyRing);
    this.#worker = worker;
    if (worker === undefined) return;
    if (worker.idHmacKey.length < ID_HMAC_KEY_LENGTH_MIN)
      throw new TypeError(
        `idHmacKey must have at least ${ID_HMAC_KEY_LENGTH_MIN} characters`,
      );
    try {
      installTemporalRuntime(createLogger('temporal'), undefined, [
        'SIGINT',
        'SIGTERM',
      ]);
    } catch (error) {
      if (!(error instanceof IllegalStateError)) throw error;
      // Installed by the process, with a logger of its choice, or made by the
      // SDK for an earlier connection.
      const { logger } = Runtime.instance();
      if (logger instanceof DefaultLogger)
        logger.warn(
          'ExchangePlugin was created after a connection: texts of failures will be logged',
        );
    }
  }

  configureClient(
    options: Omit<ClientOptions, 'plugins'>,
  ): Omit<ClientOptions, 'plugins'> {
    return { ...options, dataConverter: this.#dataConverter };
  }

  /**
   * Throws TypeError when an activity has the name of one of ours, and
   * ConfigError for an invalid variable of traces.
   */
  async configureWorker(options: WorkerOptions): Promise<WorkerOptions> {
    const own = { ...options.activities };
    const ours =
      this.#worker === undefined
        ? {}
        : await this.#activities(this.#worker, options.taskQueue);
    const taken = Object.keys(own).filter((name) => name in ours);
    if (taken.length > 0)
      throw new TypeError(
        `Rename these activities, because ours have the same names: ${taken.join(', ')}`,
      );
    const { sinks, interceptors } = interceptionOptions();
    return {
      ...ORCHESTRATOR_WORKER_OPTIONS,
      ...options,
      dataConverter: this.#dataConverter,
      activities: { ...ours, ...own },
      sinks: { ...sinks, ...options.sinks },
      interceptors: {
        ...options.interceptors,
        activity: [
          ...interceptors.activity,
          ...(options.interceptors?.activity ?? []),
        ],
      },
    };
  }

  /** Opened once for all workers with this plugin. */
  async #activities(
    { exchange, idHmacKey, files }: ExchangeOptions,
    name: string,
  ): Promise<object> {
    this.#tracing ??= startTracing(name, createLogger(name));
    await this.#tracing;
    this.#access ??= openExchange({
      EXCHANGE_BASE_URL: exchange.baseUrl,
      EXCHANGE_API_KEY: exchange.apiKey,
      EXCHANGE_IDEMPOTENCY: exchange.idempotency ?? true,
      EXCHANGE_ACCOUNT_ID: undefined,
    });
    const store =
      files === undefined
        ? undefined
        : await openBlobStore(files, this.#keyRing, 'files');
    return orchestratorActivities(this.#access, idHmacKey, store);
  }

  configureReplayWorker = (
    options: ReplayWorkerOptions,
  ): ReplayWorkerOptions => ({
    ...options,
    dataConverter: this.#dataConverter,
  });

  configureBundler = (options: BundleOptions): BundleOptions => ({
    ...options,
    ...CONVERTER_PATHS,
    workflowInterceptorModules: [
      ...WORKFLOW_INTERCEPTORS,
      ...(options.workflowInterceptorModules ?? []),
    ],
  });

  async runWorker(
    worker: Worker,
    next: (worker: Worker) => Promise<void>,
  ): Promise<void> {
    this.#running += 1;
    try {
      await next(worker);
    } finally {
      this.#running -= 1;
      if (this.#running === 0) await this.close();
    }
  }

  /**
   * Closes the connections to the exchange, and sends what is left of traces.
   * Needed only for a worker that never ran.
   */
  async close(): Promise<void> {
    const access = this.#access;
    const tracing = this.#tracing;
    this.#access = undefined;
    await Promise.all([
      access?.close(),
      tracing?.then((tracer) => tracer?.flush()),
    ]);
  }
}
