import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { CompiledQuery, sql } from 'kysely';
import PgBoss from 'pg-boss';
import { createSourceActivities } from '../../../src/activities/exchange/network-query.ts';
import type { SourceStep } from '../../../src/contract/network-query-workflow.ts';
import { SOURCE_TYPES } from '../../../src/contract/primitives.ts';
import { assembleExchange } from '../../../src/exchange/assemble.ts';
import type { AccountTx } from '../../../src/exchange/platform/database/database.ts';
import { createStartGuard } from '../../../src/exchange/platform/recovery/start-guard.ts';
import { createConnectors } from '../../../src/exchange/sources/connectors/create-connector.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { BENCH_SETTINGS } from '../../exchange-settings.ts';
import { NO_TEMPORAL } from '../../no-temporal.ts';
import {
  EXPIRE_SECONDS,
  type JobProcessAnswer,
  type JobProcessOrder,
  type QueryOrder,
} from './protocol.ts';

interface QueryJob {
  accountId: string;
  requestId: string;
}

const QUEUE = 'queries';
/** As often as pg-boss may look: for work, and for jobs whose time is over. */
const LOOKS = { pollingIntervalSeconds: 0.5, maintenanceIntervalSeconds: 1 };
/** Far more retries than there are kills, a second apart. */
const RETRIES = {
  retryLimit: 1_000,
  retryDelay: 1,
  expireInSeconds: EXPIRE_SECONDS,
};

process.on('disconnect', () => process.exit(0));
process.once('message', (order: JobProcessOrder) => void start(order));

const answer = (message: JobProcessAnswer) => void process.send?.(message);

/** A caller's side and workers of pg-boss in one process. */
async function start(order: JobProcessOrder): Promise<void> {
  const logger = createLogger('jobs', 'error');
  const exchange = await assembleExchange(
    {
      ...BENCH_SETTINGS,
      DATABASE_URL: order.databaseUrl,
      DATABASE_POOL_MAX: 20,
      BLOB_STORE: order.blobStore,
      DATA_KEYS: order.dataKeys,
    },
    NO_TEMPORAL,
    logger,
  );
  const steps = createSourceActivities({
    ...exchange,
    connectors: connectorsOf(order),
    callbackBaseUrl: () => undefined,
    startGuard: createStartGuard(exchange.store),
  });
  const boss = new PgBoss({
    connectionString: order.databaseUrl,
    max: 10,
    schedule: false,
    ...LOOKS,
  });
  boss.on('error', (error) => logger.warn({ err: error }, 'pg-boss'));
  await boss.start();
  await boss.createQueue(QUEUE);

  /**
   * The query and its job in one transaction; once for each patient, however
   * often it is ordered.
   */
  const accept = async ({ accountId, patientId }: QueryOrder) => {
    await exchange.store.asAccount(accountId, async (tx) => {
      await sql`select from patient where id = ${patientId} for update`.execute(
        tx.db,
      );
      const known =
        await sql`select from network_query where patient_id = ${patientId}`.execute(
          tx.db,
        );
      if (known.rows.length > 0) return;
      const { requestId } = await prepare(exchange, tx, patientId);
      const executeSql = async (text: string, values: unknown[]) => {
        // The roles of our tables may not write those of pg-boss.
        await sql`set local role none`.execute(tx.db);
        return {
          rows: [
            ...(await tx.db.executeQuery(CompiledQuery.raw(text, values))).rows,
          ],
        };
      };
      await boss.send(
        QUEUE,
        { accountId, requestId },
        { ...RETRIES, db: { executeSql } },
      );
    });
    answer({ patientId });
  };
  process.on('message', (query: QueryOrder) => {
    // Not answered: the caller orders it again.
    accept(query).catch((error: unknown) =>
      logger.warn({ err: error }, 'query not accepted'),
    );
  });

  const work = async ([job]: PgBoss.Job<QueryJob>[]) => {
    if (job === undefined) return;
    const { accountId, requestId } = job.data;
    const open = await exchange.store.asAccount(accountId, (tx) =>
      tx.db
        .selectFrom('network_query_attempt')
        .select('source')
        .where('query_id', '=', requestId)
        .where('status', '=', 'running')
        .execute(),
    );
    await Promise.all(
      SOURCE_TYPES.filter((type) =>
        open.some(({ source }) => source === type),
      ).map(async (source) => {
        const step = { accountId, requestId, run: 0, source, attempt: 1 };
        const environment = new MockActivityEnvironment(undefined, {
          logger: new DefaultLogger('ERROR'),
        });
        const end: SourceStep = await environment.run(steps.askSource, step);
        if (end.state !== 'completed')
          throw new Error(`${source} did not answer at once`);
      }),
    );
    await announce(exchange, job.data);
  };
  for (let index = 0; index < order.workers; index++)
    await boss.work<QueryJob>(QUEUE, { batchSize: 1, ...LOOKS }, work);
  answer({});
}

type Exchange = Awaited<ReturnType<typeof assembleExchange>>;

const prepare = (
  { networkQueries }: Exchange,
  tx: AccountTx,
  patientId: string,
) => {
  const enabled = { enabled: true };
  return networkQueries.prepareQuery(tx, {
    account: {
      settings: {
        sources: { hie: enabled, pharmacy: enabled, lab: enabled },
        limits: { networkQueriesPerMinute: 1_000_000 },
      },
    },
    patient: { id: patientId, hieOptOut: false },
    request: {
      sources: SOURCE_TYPES.map((source) => ({ source, realtime: false })),
    },
    purposeOfUse: 'treatment',
    origin: 'interactive',
  });
};

/**
 * What our dispatcher has not sent right after the commit is sent now; without
 * it, the job is retried.
 */
async function announce(
  exchange: Exchange,
  { accountId, requestId }: QueryJob,
): Promise<void> {
  await exchange.webhookDispatcher.drain();
  const open = await exchange.store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('event')
      .select('id')
      .where('request_id', '=', requestId)
      .where('status', 'in', ['pending', 'delivering'])
      .orderBy('seq')
      .execute(),
  );
  for (const { id } of open) {
    const { state } = await exchange.delivery.attempt(accountId, id);
    if (state !== 'delivered' && state !== 'closed')
      throw new Error('A webhook is not delivered yet');
  }
}

function connectorsOf(order: JobProcessOrder) {
  const { simulatorUrl } = order;
  const at = <S extends string>(source: S) => ({
    source,
    baseUrl: `${simulatorUrl}/${source}/fhir`,
    callbacks: false,
  });
  const hie = {
    kind: 'client-credentials' as const,
    clientId: 'exchange',
    tokenUrl: `${simulatorUrl}/hie/oauth/token`,
    clientSecret: order.hieClientSecret,
  };
  const bearer = (token: string) => ({ kind: 'bearer' as const, token });
  return createConnectors({
    hie: { ...at('hie'), auth: hie },
    pharmacy: { ...at('pharmacy'), auth: bearer(order.pharmacyBearerToken) },
    lab: { ...at('lab'), auth: bearer(order.labBearerToken) },
  });
}
