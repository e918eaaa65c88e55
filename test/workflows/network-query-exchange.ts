import { Client } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { pino } from 'pino';
import { inject } from 'vitest';
import {
  createRecordActivities,
  createSourceActivities,
} from '../../src/activities/exchange/network-query.ts';
import { createRedriveActivities } from '../../src/activities/exchange/query-sweep.ts';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import {
  SOURCE_TYPES,
  type SourceType,
} from '../../src/contract/primitives.ts';
import {
  networkQueryWorkflowId,
  TASK_QUEUES,
} from '../../src/contract/temporal.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { networkQueryRecovery } from '../../src/exchange/queries/network-query/feature.ts';
import { createNetworkQueryService } from '../../src/exchange/queries/network-query/service.ts';
import { createSourceCallbacks } from '../../src/exchange/queries/network-query/source-callback.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createRedriver } from '../../src/exchange/queries/redrive/redriver.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import {
  type SourceConnector,
  SourceFailure,
} from '../../src/exchange/sources/connectors/connector.ts';
import { createSourceHealth } from '../../src/exchange/sources/health/source-health.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { inBothLanes } from '../../src/temporal/task-queues.ts';
import { createWorkers } from '../../src/temporal/workers.ts';
import {
  createDeliveries,
  startReceiver,
} from '../support/events-environment.ts';
import {
  CALLBACK_KEY,
  createQueryEnvironment,
} from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { takeUp } from '../support/take-up.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { installTestRuntime } from '../support/temporal-runtime.ts';
import { testKeyRing } from '../support/test-keys.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { shortWorkflowTasks } from './short-workflow-tasks.ts';

installTestRuntime();
const logger = pino({ level: 'silent' });
export const CALLBACK_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';

type Behaviour = Partial<SourceConnector>;

/**
 * Parts that outlive one exchange, for tests that stop it and start another one
 * on them.
 */
export interface KeptParts {
  databaseUrl: string;
  blobFolder: string;
  temporalAddress: string;
  namespace: string;
  receiver: Awaited<ReturnType<typeof startReceiver>>;
  /** Undefined: create one. */
  accountId?: string;
}

/**
 * The exchange's half on real parts (PostgreSQL, Temporal with our workers, a
 * receiver); only the sources are scripted. Work of the background lane is left
 * lying unless asked for: each worker with workflows has a thread that takes a
 * second to start.
 */
export async function createTestExchange(
  options: { build?: string; kept?: KeptParts; hasBackground?: boolean } = {},
) {
  const { kept } = options;
  const [environment, namespace, receiver] = await Promise.all([
    createQueryEnvironment(kept),
    kept?.namespace ?? createTestNamespace(),
    kept?.receiver ?? startReceiver(),
  ]);
  const { store } = environment;
  const address = kept?.temporalAddress ?? inject('temporalAddress');
  const dataConverter = createDataConverter(testKeyRing());
  const [connection, native] = await Promise.all([
    openConnection({ address }),
    NativeConnection.connect({ address }),
  ]);
  const temporal = Object.assign(
    new Client({
      connection,
      namespace,
      dataConverter,
      interceptors: { workflow: [shortWorkflowTasks] },
    }),
    { connection },
  );
  /** By `<request id>/<source>`, else what the source does by default. */
  const behaviours = new Map<string, Behaviour>();

  const { webhookDispatcher, delivery } = createDeliveries(store, temporal);
  store.onEventsCommitted(webhookDispatcher.send);
  const service = createNetworkQueryService({
    store,
    temporal,
    logger,
    callbackKey: CALLBACK_KEY,
    // A starved machine takes longer than a caller would wait.
    commandTimeoutMs: 120_000,
  });
  const callbacks = createSourceCallbacks({
    store,
    temporal,
    logger,
    callbackSecrets: { hie: CALLBACK_SECRET, lab: CALLBACK_SECRET },
    keyRing: testKeyRing(),
    callbackKey: CALLBACK_KEY,
  });
  const records = createRecordKeeper({
    store,
    blobs: environment.blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const deps = {
    store,
    records,
    blobs: environment.blobs,
    callbackKey: CALLBACK_KEY,
  };
  const recovery = networkQueryRecovery({ store, launcher: service.launcher });
  /**
   * Called for each retry that a redrive has committed. One that throws stands
   * for a worker that was killed there.
   */
  let afterRedrive: (requestId: string) => void = () => undefined;
  const redriver = createRedriver({
    store,
    queries: service,
    callbackKey: CALLBACK_KEY,
    pageSize: 2,
    launcher: {
      launch(account, requestId, run) {
        afterRedrive(requestId);
        service.launcher.launch(account, requestId, run);
      },
    },
  });
  const exchangeActivities = {
    ...createRedriveActivities({ redriver }),
    ...createRecordActivities({
      ...deps,
      connectors: connectorsFor(behaviourOf),
    }),
  };
  const sourceActivities = createSourceActivities({
    ...deps,
    connectors: connectorsFor(behaviourOf),
    startGuard: createStartGuard(store),
    sourceHealth: createSourceHealth(store),
    callbackBaseUrl: () => 'https://exchange.example.org/sources/callback',
  });
  function behaviourOf(source: SourceType): Behaviour {
    return (
      behaviours.get(source) ?? sourceOf([page([observation(`${source}-1`)])])
    );
  }
  /** Workers with this workflow code; what it returns stops them. */
  async function startWorkers(
    workflowBundle: { code: string },
    build?: string,
  ): Promise<() => Promise<void>> {
    const activities = {
      [TASK_QUEUES.exchange]: exchangeActivities,
      [TASK_QUEUES.webhooks]: createWebhookActivities({ store, delivery }),
      ...Object.fromEntries(
        SOURCE_TYPES.map((source) => [
          TASK_QUEUES.source(source),
          sourceActivities,
        ]),
      ),
    };
    const workers = await createWorkers({
      connection: native,
      namespace,
      dataConverter,
      workflowBundle,
      build,
      activities:
        options.hasBackground === true ? inBothLanes(activities) : activities,
    });
    const running = workers.map((worker) => worker.run());
    return async () => {
      for (const worker of workers)
        if (worker.getState() === 'RUNNING') worker.shutdown();
      await Promise.all(running);
    };
  }
  const stopWorkers = await startWorkers(await workflowBundle(), options.build);
  const accountId =
    kept?.accountId ??
    (
      await environment.addAccount(
        { limits: { networkQueriesPerMinute: 1_000 } },
        receiver.url,
      )
    ).accountId;

  return {
    ...environment,
    accountId,
    receiver,
    temporal,
    startWorkers,
    stopWorkers,
    service,
    callbacks,
    afterRedrive(call: typeof afterRedrive) {
      afterRedrive = call;
    },
    /**
     * What a source does from now on; undefined: it answers at once with one
     * resource.
     */
    let(source: SourceType, behaviour: Behaviour | undefined) {
      if (behaviour === undefined) behaviours.delete(source);
      else behaviours.set(source, behaviour);
    },
    /** Accepts a query and starts it, as E2 does. */
    async start(
      sources: readonly SourceType[],
      options: { launch?: boolean } = {},
    ) {
      const patientId = await environment.addPatient(accountId);
      const requestId = await environment.addQuery(
        accountId,
        patientId,
        sources,
      );
      if (options.launch !== false)
        service.launchQuery(accountId, { requestId, run: 0 });
      return requestId;
    },
    handle: (requestId: string, run = 0) =>
      temporal.workflow.getHandle(networkQueryWorkflowId(requestId, run)),
    recovery,
    /** Returns the number of healed runs. */
    reconcile: () => takeUp(recovery),
    eventsOf: (requestId: string) =>
      receiver.received.filter(({ raw }) => raw.includes(requestId)),
    async close() {
      await stopWorkers();
      await service.drain();
      await webhookDispatcher.drain();
      await Promise.all([
        kept === undefined ? receiver.close() : undefined,
        environment.close(),
      ]);
      await Promise.all([connection.close(), native.close()]);
    },
  };
}

export type TestExchange = Awaited<ReturnType<typeof createTestExchange>>;

const connectorsFor = (behaviourOf: (source: SourceType) => Behaviour) =>
  Object.fromEntries(
    SOURCE_TYPES.map((source): [SourceType, SourceConnector] => [
      source,
      {
        begin: (...args) => (behaviourOf(source).begin ?? refuse)(...args),
        poll: (...args) => (behaviourOf(source).poll ?? refuse)(...args),
        resume: (...args) => {
          const { resume } = behaviourOf(source);
          if (resume === undefined)
            throw new SourceFailure('refused', 'nothing to go on with');
          return resume(...args);
        },
        waitToBeginMs: () => behaviourOf(source).waitToBeginMs?.() ?? 0,
        checkMissing: async ({ missing }) => missing.map(() => 'kept' as const),
        cancel: async (...args) => behaviourOf(source).cancel?.(...args),
      },
    ]),
  ) as Record<SourceType, SourceConnector>;

const refuse = () =>
  Promise.reject(new SourceFailure('refused', 'it answered 403'));

/** Takes the request and is never ready. */
export const busy: Behaviour = {
  begin: async () => ({
    kind: 'accepted',
    job: { url: 'job-1' },
    retryAfterMs: 3_600_000,
  }),
  poll: async (job) => ({ kind: 'pending', job, retryAfterMs: 3_600_000 }),
};
export const refusing: Behaviour = { begin: refuse };
