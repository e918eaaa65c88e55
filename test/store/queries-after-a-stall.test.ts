import { Client, type Connection } from '@temporalio/client';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { networkQueryWorkflowId } from '../../src/contract/temporal.ts';
import { createRoundCount } from '../../src/exchange/platform/recovery/reconcile-state-store.ts';
import { createReconciler } from '../../src/exchange/platform/recovery/reconciler.ts';
import { networkQueryRecovery } from '../../src/exchange/queries/network-query/feature.ts';
import { createLauncher } from '../../src/exchange/queries/network-query/launcher.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import {
  createQueryEnvironment,
  type QueryEnvironment,
} from '../support/network-query-environment.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { testKeyRing } from '../support/test-keys.ts';

const QUERIES = 200;
let environment: QueryEnvironment;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  environment = await createQueryEnvironment();
  connection = await openConnection({ address: inject('temporalAddress') });
  const namespace = await createTestNamespace();
  temporal = new Client({
    connection,
    namespace,
    dataConverter: createDataConverter(testKeyRing()),
  });
});
afterAll(() => Promise.all([environment.close(), connection.close()]));

test('queries that were accepted while Temporal stalled are all started, although rounds and single starts are cut off', async () => {
  const { store } = environment;
  const ids: string[] = [];
  for (let account = 0; account < 5; account++) {
    const { accountId } = await environment.addAccount();
    const patientId = await environment.addPatient(accountId);
    // Not more than the limit of a minute.
    for (let count = 0; count < QUERIES / 5; count++)
      ids.push(
        await environment.addQuery(accountId, patientId, ['hie', 'lab']),
      );
  }
  await store.asSystem((tx) =>
    sql`update network_query_run set requested_at = now() - interval '1 minute'`.execute(
      tx.db,
    ),
  );
  const logger = pino({ level: 'silent' });
  const launcher = createLauncher({ store, temporal, logger });
  let inProgress = 0;
  let most = 0;
  const cut = new Set<string>();
  const recovery = networkQueryRecovery({
    store,
    launcher: {
      ...launcher,
      async start(...run) {
        inProgress += 1;
        most = Math.max(most, inProgress);
        try {
          // Every tenth start is cut off once, as by a server that is only
          // coming back.
          if (ids.indexOf(run[1]) % 10 === 0 && !cut.has(run[1])) {
            cut.add(run[1]);
            throw Object.assign(new Error('DEADLINE_EXCEEDED'), { code: 4 });
          }
          return await launcher.start(...run);
        } finally {
          inProgress -= 1;
        }
      },
    },
  });
  const reconciler = createReconciler({
    roundCount: createRoundCount(store),
    recoveries: [recovery],
    isImporting: async () => false,
    logger,
    // Rounds that end long before they are done.
    kindMs: 100,
  });
  const waiting = async (): Promise<number> => {
    const { rows } = await store.asSystem((tx) =>
      sql<{
        n: number;
      }>`select count(*)::int as n from network_query_run where workflow_started_at is null`.execute(
        tx.db,
      ),
    );
    return rows[0]?.n ?? 0;
  };
  let position: Awaited<ReturnType<typeof reconciler.round>> | undefined;
  for (let before = QUERIES; before > 0; ) {
    position = await reconciler.round(position, new AbortController().signal);
    const left = await waiting();
    // A round that gets further asks for the next one at once while there is
    // more.
    if (left > 0 && left < before) expect(position.isBehind).toBe(true);
    before = left;
  }
  expect(most).toBeGreaterThan(1);
  for (const id of ids)
    expect(
      (await temporal.workflow.getHandle(networkQueryWorkflowId(id)).describe())
        .status.name,
    ).toBe('RUNNING');
});
