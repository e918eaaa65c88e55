import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pg from 'pg';
import { pino } from 'pino';
import { createSourceActivities } from '../../src/activities/exchange/network-query.ts';
import type { SourceType } from '../../src/contract/primitives.ts';
import { generateApiKey } from '../../src/exchange/access/accounts/rules/api-key.ts';
import { assembleExchange } from '../../src/exchange/assemble.ts';
import { createGateway } from '../../src/exchange/create-gateway.ts';
import { seedDemoAccount } from '../../src/exchange/operations/admin/seed.ts';
import { createResponseSeal } from '../../src/exchange/platform/http/idempotency-store.ts';
import { createWebhookKeys } from '../../src/exchange/platform/outbox/webhook-key.ts';
import { createStartGuard } from '../../src/exchange/platform/recovery/start-guard.ts';
import { parseKeyRing } from '../../src/lib/key-ring.ts';
import { startPostgres } from '../../tools/embedded/postgres.ts';
import { BENCH_SETTINGS } from '../exchange-settings.ts';
import { NO_TEMPORAL } from '../no-temporal.ts';
import { threeObservations } from './source.ts';

export type GrowthEnvironment = Awaited<
  ReturnType<typeof startGrowthEnvironment>
>;

/**
 * PostgreSQL with its own count of what statements read, and gateway and source
 * steps in this process. Nothing answers for Temporal: workflows are not
 * started, their steps are run one after the other.
 */
export async function startGrowthEnvironment() {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-growth-'));
  const postgres = await startPostgres({
    dataDir: join(dataDir, 'postgres'),
    logFile: join(dataDir, 'postgres.log'),
    settings: {
      shared_preload_libraries: 'pg_stat_statements',
      'pg_stat_statements.max': '10000',
      max_wal_size: '4GB',
      maintenance_work_mem: '256MB',
    },
  });
  const logger = pino({ level: 'silent' });
  const dataKeys = `bench:${randomBytes(32).toString('base64')}`;
  const exchange = await assembleExchange(
    {
      DATABASE_URL: postgres.databaseUrl,
      DATABASE_POOL_MAX: 10,
      BLOB_STORE: pathToFileURL(join(dataDir, 'blobs')).href,
      DATA_KEYS: dataKeys,
      ...BENCH_SETTINGS,
    },
    NO_TEMPORAL,
    logger,
  );
  await exchange.store.migrate();
  const admin = new pg.Client({ connectionString: postgres.databaseUrl });
  await admin.connect();
  await admin.query('create extension pg_stat_statements');
  const apiKey = generateApiKey();
  const account = {
    ...(await seedDemoAccount(exchange.store, {
      apiKey,
      webhookKeys: createWebhookKeys(parseKeyRing(dataKeys)),
    })),
    apiKey,
  };
  await admin.query(
    `update account set settings = settings || '{"limits":{"requestsPerMinute":1000000,"networkQueriesPerMinute":1000000}}'`,
  );
  const app = await createGateway({
    ...exchange,
    networkQueries: {
      ...exchange.networkQueries,
      launchQuery: () => undefined,
    },
    responseSeal: createResponseSeal(exchange.keyRing),
    linkSigningKey: 'a link signing key for benchmarks',
    internalTokenKey: 'an internal token key for benchmarks',
    allowLoopbackWebhooks: true,
    pingTemporal: async () => undefined,
  });
  const steps = createSourceActivities({
    ...exchange,
    connectors: {
      hie: threeObservations,
      pharmacy: threeObservations,
      lab: threeObservations,
    },
    callbackBaseUrl: () => undefined,
    startGuard: createStartGuard(exchange.store),
  });

  return {
    admin,
    account,
    exchange,
    call: async (
      method: 'GET' | 'POST' | 'DELETE',
      path: string,
      body?: object,
    ): Promise<unknown> => {
      const answer = await app.inject({
        method,
        url: path.startsWith('/') ? path : `/medical/v1/${path}`,
        headers: { 'x-api-key': apiKey },
        ...(body === undefined ? {} : { body }),
      });
      if (answer.statusCode >= 300)
        throw new Error(
          `${method} ${path}: ${answer.statusCode} ${answer.body}`,
        );
      return path.startsWith('/') || answer.body === ''
        ? undefined
        : answer.json();
    },
    /** The step in which a source answers at once, to its end. */
    askSource: (requestId: string, source: SourceType) =>
      new MockActivityEnvironment(undefined, {
        logger: new DefaultLogger('ERROR'),
      }).run(steps.askSource, {
        accountId: account.accountId,
        requestId,
        run: 0,
        source,
        attempt: 1,
      }),
    async stop() {
      await app.close();
      await exchange.close();
      await admin.end();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
