import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CANCELLED } from '../../src/contract/network-query-workflow.ts';
import {
  queryRedriveWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import { failOpenAttempts } from '../../src/exchange/queries/network-query/endings.ts';
import { insertQuery } from '../../src/exchange/queries/network-query/query-store.ts';
import {
  countFailed,
  endRedrive,
  findRedrive,
  insertRedrive,
} from '../../src/exchange/queries/redrive/redrive-store.ts';
import { createRedriveLauncher } from '../../src/exchange/queries/redrive/redriver.ts';
import { takeUp } from '../support/take-up.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { eventually } from './network-query-environment.ts';
import {
  busy,
  createTestExchange,
  type TestExchange,
} from './network-query-exchange.ts';

let exchange: TestExchange;
let restarted: (() => Promise<void>) | undefined;
let accountId: string;
beforeAll(async () => {
  exchange = await createTestExchange({ hasBackground: true });
});
afterAll(async () => {
  await restarted?.();
  await exchange.close();
});
beforeEach(async () => {
  exchange.afterRedrive(() => undefined);
  exchange.let('lab', undefined);
  ({ accountId } = await exchange.addAccount({
    limits: { networkQueriesPerMinute: 1_000 },
  }));
});

/**
 * A query of the lab source that failed for this reason; its workflow was never
 * started.
 */
async function failed(reason: string): Promise<string> {
  const requestId = await exchange.addQuery(
    accountId,
    await exchange.addPatient(accountId),
    ['lab'],
  );
  await exchange.store.asAccount(accountId, (tx) =>
    failOpenAttempts(tx, { requestId, run: 0 }, reason),
  );
  return requestId;
}
/** A query that could not ask its only source when it was accepted. */
async function refusedAt(
  source: 'hie' | 'lab',
  message: string,
): Promise<string> {
  const requestId = uuidv7();
  const patientId = await exchange.addPatient(accountId);
  const error = {
    source,
    httpStatus: 429,
    message,
    timestamp: new Date().toISOString(),
  };
  const query = {
    id: requestId,
    patientId,
    purposeOfUse: 'treatment' as const,
    origin: 'interactive' as const,
  };
  await exchange.store.asAccount(accountId, (tx) =>
    insertQuery(tx, {
      ...query,
      metadata: null,
      requested: [],
      starting: [],
      startErrors: [error],
    }),
  );
  return requestId;
}
const manyFailed = async (
  count: number,
  reason = 'lab answered 401',
): Promise<string[]> => {
  const ids: string[] = [];
  for (let made = 0; made < count; made++) ids.push(await failed(reason));
  return ids;
};

/**
 * A committed redrive of what has failed so far; its workflow is not started.
 */
async function redriveOf(reason: string | null): Promise<string> {
  const id = uuidv7();
  const filter = {
    source: 'lab' as const,
    failedFrom: new Date(0),
    failedTo: new Date(),
    reason,
  };
  await exchange.store.asAccount(accountId, async (tx) =>
    insertRedrive(tx, {
      ...filter,
      id,
      actor: 'key:test',
      queries: await countFailed(tx, filter),
    }),
  );
  return id;
}
const start = (redriveId: string, pagesPerRun = 200) =>
  exchange.temporal.workflow.start(WORKFLOW_TYPES.queryRedrive, {
    taskQueue: TASK_QUEUES.exchange,
    workflowId: queryRedriveWorkflowId(redriveId),
    args: [{ accountId, redriveId, pagesPerRun }],
  });
const rowOf = (redriveId: string) =>
  exchange.store.asAccount(accountId, (tx) => findRedrive(tx, redriveId));
const attemptsOf = async (requestId: string) =>
  (await exchange.view(accountId, requestId)).attempts.map(
    ({ attempt, status }) => [attempt, status],
  );
const RETRIED = [
  [1, 'failed'],
  [2, 'completed'],
];

test('a redrive retries each matching query once, although its worker is killed and replaced in the middle', async () => {
  const matching = await manyFailed(7);
  const other = await failed('No answer within 7 days');
  const meanwhile = await failed('lab answered 401');
  const redriveId = await redriveOf('ANSWERED 401');
  await exchange.service.retrySource(accountId, meanwhile, 'lab');
  await eventually(async () => (await attemptsOf(meanwhile)).length === 2);
  let retried = 0;
  exchange.afterRedrive(() => {
    if (++retried === 3) throw new Error('killed after its commit');
  });

  const redrive = await start(redriveId, 1);
  await eventually(() => retried === 3);
  await exchange.stopWorkers();
  restarted = await exchange.startWorkers(await workflowBundle());
  const result = {
    state: 'completed',
    queries: 8,
    retried: 7,
    skipped: 1,
    failed: 0,
  };
  expect(await redrive.result()).toEqual(result);
  expect(await rowOf(redriveId)).toMatchObject(result);

  // The run that was committed just before the kill is started by reconcile.
  await exchange.store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('network_query_run')
      .set({ requested_at: new Date(0) })
      .execute(),
  );
  await exchange.reconcile();
  for (const requestId of matching)
    await eventually(
      async () =>
        JSON.stringify(await attemptsOf(requestId)) === JSON.stringify(RETRIED),
    );
  expect(await attemptsOf(other)).toEqual([[1, 'failed']]);
  expect(await attemptsOf(meanwhile)).toHaveLength(2);
  expect(await audited()).toEqual([...matching].sort());
  const { runId } = await exchange.temporal.workflow
    .getHandle(redrive.workflowId)
    .describe();
  expect(runId).not.toBe(redrive.firstExecutionRunId);
});

test('a query that was refused at the source when it was accepted is retried too, of a reason that matches', async () => {
  const refused = await refusedAt('lab', 'no room');
  const other = await refusedAt('lab', 'not enabled');
  const asked = await refusedAt('hie', 'no room');
  await failed('no room');
  const filter = {
    source: 'lab' as const,
    failedFrom: new Date(0),
    failedTo: new Date(),
  };
  const count = (reason: string | null) =>
    exchange.store.asAccount(accountId, (tx) =>
      countFailed(tx, { ...filter, reason }),
    );
  expect([
    await count(null),
    await count('NO ROOM'),
    await count('not enabled'),
  ]).toEqual([3, 2, 1]);

  const redrive = await start(await redriveOf('no room'));
  expect(await redrive.result()).toMatchObject({
    state: 'completed',
    queries: 2,
    retried: 2,
    skipped: 0,
  });
  await eventually(
    async () =>
      JSON.stringify(await attemptsOf(refused)) ===
      JSON.stringify([[1, 'completed']]),
  );
  expect([await attemptsOf(other), await attemptsOf(asked)]).toEqual([[], []]);
  expect(await count('no room')).toBe(0);
});

test('what was cancelled has not failed: only a filter that asks for it matches', async () => {
  await failed('no room');
  await failed(CANCELLED.query);
  await failed(CANCELLED.byOperator);
  const filter = {
    source: 'lab' as const,
    failedFrom: new Date(0),
    failedTo: new Date(),
  };
  const count = (reason: string | null) =>
    exchange.store.asAccount(accountId, (tx) =>
      countFailed(tx, { ...filter, reason }),
    );
  expect([
    await count(null),
    await count('no room'),
    await count('cancelled by'),
  ]).toEqual([1, 1, 1]);
});

test('a query is skipped when a consent excludes the source since', async () => {
  const requestId = await failed('no room');
  const { patientId } = await exchange.view(accountId, requestId);
  await exchange.store.asAccount(accountId, (tx) =>
    sql`insert into consent (id, account_id, patient_id, decision, sources, purposes, recorded_by, resource)
      values (gen_random_uuid(), ${accountId}, ${patientId}, 'deny', '{lab}', '{}', 'key:test', '{}')`.execute(
      tx.db,
    ),
  );
  const redrive = await start(await redriveOf(null));
  expect(await redrive.result()).toMatchObject({
    state: 'completed',
    queries: 1,
    retried: 0,
    skipped: 1,
  });
  expect(await attemptsOf(requestId)).toEqual([[1, 'failed']]);
});

test('a query whose workflow still waits for another source is retried there', async () => {
  exchange.let('hie', busy);
  exchange.let('lab', busy);
  const requestId = await exchange.addQuery(
    accountId,
    await exchange.addPatient(accountId),
    ['hie', 'lab'],
  );
  exchange.service.launchQuery(accountId, { requestId, run: 0 });
  await eventually(async () =>
    (await exchange.timeline(accountId, requestId)).some(
      ({ source, kind }) => source === 'lab' && kind === 'accepted',
    ),
  );
  await exchange.service.giveUpSource(accountId, requestId, 'lab');
  exchange.let('lab', undefined);

  const redrive = await start(await redriveOf('Given up on request'));
  expect(await redrive.result()).toMatchObject({
    state: 'completed',
    retried: 1,
    skipped: 0,
  });
  await eventually(async () => {
    const { attempts } = await exchange.view(accountId, requestId);
    return attempts.some(
      ({ source, attempt, run, status }) =>
        source === 'lab' &&
        attempt === 2 &&
        run === 0 &&
        status === 'completed',
    );
  });
});

test('a redrive whose workflow was never started, or was lost, is taken up by reconcile', async () => {
  const [requestId = ''] = await manyFailed(1);
  const redriveId = await redriveOf(null);
  const { store, temporal } = exchange;
  await store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('query_redrive')
      .set({ created_at: new Date(0) })
      .where('id', '=', redriveId)
      .execute(),
  );
  const { recovery } = createRedriveLauncher({
    store,
    temporal,
    logger: pino({ level: 'silent' }),
  });
  await takeUp(recovery);
  await eventually(async () => (await rowOf(redriveId))?.state === 'completed');
  await eventually(
    async () =>
      JSON.stringify(await attemptsOf(requestId)) === JSON.stringify(RETRIED),
  );
});

test('a cancelled redrive retries nothing more', async () => {
  const requests = await manyFailed(4);
  const redriveId = await redriveOf(null);
  exchange.afterRedrive(() => {
    throw new Error('away');
  });
  const redrive = await start(redriveId);
  await eventually(async () => ((await rowOf(redriveId))?.retried ?? 0) > 0);
  await exchange.store.asAccount(accountId, (tx) =>
    endRedrive(tx, redriveId, 'cancelled'),
  );
  const { retried } = (await rowOf(redriveId)) ?? {};
  expect(await redrive.result()).toMatchObject({ state: 'cancelled', retried });
  const again = await Promise.all(requests.map(attemptsOf));
  expect(again.filter((attempts) => attempts.length === 2)).toHaveLength(
    retried ?? -1,
  );
});

test.each(['cancel', 'terminate'] as const)(
  'a redrive that an operator ends in Temporal (%s) is cancelled, and reconcile does not start it again',
  async (how) => {
    await manyFailed(4);
    const redriveId = await redriveOf(null);
    exchange.afterRedrive(() => {
      throw new Error('away');
    });
    const redrive = await start(redriveId);
    await eventually(async () => ((await rowOf(redriveId))?.retried ?? 0) > 0);
    await redrive[how]();
    await expect(redrive.result()).rejects.toThrow();
    if (how === 'cancel')
      expect((await rowOf(redriveId))?.state).toBe('cancelled');
    const { store, temporal } = exchange;
    await store.asAccount(accountId, (tx) =>
      tx.db
        .updateTable('query_redrive')
        .set({ workflow_seen_at: new Date(0) })
        .where('id', '=', redriveId)
        .execute(),
    );
    const { recovery } = createRedriveLauncher({
      store,
      temporal,
      logger: pino({ level: 'silent' }),
    });
    await takeUp(recovery);
    expect((await rowOf(redriveId))?.state).toBe('cancelled');
    const { runId } = await temporal.workflow
      .getHandle(redrive.workflowId)
      .describe();
    expect(runId).toBe(redrive.firstExecutionRunId);
  },
);

test('a redrive waits while its share of the rate limit is used up', async () => {
  ({ accountId } = await exchange.addAccount({
    limits: { networkQueriesPerMinute: 3 },
  }));
  // Limits are counted by the minute of the database.
  await exchange.store.asSystem((tx) =>
    sql`select pg_sleep(case when extract(second from clock_timestamp()) > 50
        then 60.1 - extract(second from clock_timestamp()) else 0 end)`.execute(
      tx.db,
    ),
  );
  // Three starts use up the minute, of which a redrive takes 72 % at most.
  await manyFailed(3);
  const redriveId = await redriveOf(null);
  await start(redriveId);
  await eventually(
    async () => (await rowOf(redriveId))?.workflow_seen_at !== null,
  );
  expect(await rowOf(redriveId)).toMatchObject({
    state: 'running',
    retried: 0,
    queries: 3,
  });
});

const audited = () =>
  exchange.store.asAccount(accountId, async (tx) => {
    const rows = await tx.db
      .selectFrom('audit_entry')
      .select('target_id')
      .where('operation', '=', 'redriveQueries')
      .where('actor', '=', 'key:test')
      .execute();
    return rows.map(({ target_id }) => target_id).sort();
  });
