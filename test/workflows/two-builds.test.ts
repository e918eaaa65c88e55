import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import {
  queryRedriveWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  buildStatus,
  makeCurrent,
  ramp,
  rollBack,
} from '../../src/deployment/build-commands.ts';
import { failOpenAttempts } from '../../src/exchange/queries/network-query/endings.ts';
import { insertRedrive } from '../../src/exchange/queries/redrive/redrive-store.ts';
import { pollingBuilds, readBuilds } from '../../src/temporal/builds.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { settleRouting, type Versioning } from '../../src/worker/routing.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import {
  busy,
  createTestExchange,
  type TestExchange,
} from './network-query-exchange.ts';

/** Our workflows with one step more, and no patch for it. */
const CHANGED = fileURLToPath(
  new URL('../replay/broken-workflows.ts', import.meta.url),
);
const logger = pino({ level: 'silent' });
let exchange: TestExchange;
const stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  exchange = await createTestExchange();
});
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await exchange.close();
});
beforeEach(() => exchange.let('hie', busy));

/** Longer than a task stays with a worker that has gone (10 s). */
const eventually = (check: () => Promise<boolean>) =>
  expect.poll(check, { timeout: 240_000 }).toBe(true);
/**
 * Temporal accepts a build only once it knows workers of it on each task queue.
 */
const becomesCurrent = (build: string | undefined) =>
  eventually(() =>
    makeCurrent(exchange.temporal, build).then(
      () => true,
      () => false,
    ),
  );
const view = (requestId: string) =>
  exchange.view(exchange.accountId, requestId);
const buildOf = async (requestId: string) =>
  (await exchange.handle(requestId).describe()).raw.workflowExecutionInfo
    ?.versioningInfo?.deploymentVersion?.buildId;
/** A query whose source has accepted it and is not ready. */
async function waitingQuery(): Promise<string> {
  const requestId = await exchange.start(['hie']);
  await eventually(async () =>
    (await exchange.timeline(exchange.accountId, requestId)).some(
      ({ kind }) => kind === 'accepted',
    ),
  );
  return requestId;
}
async function completes(requestId: string): Promise<void> {
  const { pagesFrom, resume } = sourceOf([page([observation('late')])]);
  exchange.let('hie', {
    poll: async () => ({ kind: 'ready', pages: pagesFrom(0) }),
    resume,
  });
  await exchange
    .handle(requestId)
    .signal('sourceCallback', { source: 'hie', attempt: 1 });
  await eventually(async () => (await view(requestId)).status === 'completed');
  await eventually(
    async () =>
      (await exchange.handle(requestId).describe()).status.name === 'COMPLETED',
  );
  exchange.let('hie', busy);
}
async function start(
  bundle: { code: string },
  build: string,
): Promise<() => Promise<void>> {
  const stop = await exchange.startWorkers(bundle, build);
  stops.push(stop);
  await eventually(async () =>
    (await pollingBuilds(exchange.temporal)).ids.has(build),
  );
  return stop;
}
const settle = (versioning: Versioning, build: string, timeoutMs = 240_000) =>
  settleRouting(
    { versioning, build },
    {
      temporal: exchange.temporal,
      logger,
      signal: AbortSignal.timeout(timeoutMs),
    },
  );
const current = async () => (await readBuilds(exchange.temporal)).current;

test('a changed query flow goes forward and back while queries wait, and nothing is stuck', async () => {
  const before = await waitingQuery();
  await start(await workflowBundle(), 'one');
  // Workers without versioning still run: the new build does not push itself in
  // front of them.
  await settle('on', 'one', 3_000);
  expect(await current()).toBeUndefined();
  await becomesCurrent('one');
  await exchange.stopWorkers();
  await completes(before);
  expect(await buildOf(before)).toBe('one');

  const onOne = await waitingQuery();
  const alsoOnOne = await waitingQuery();
  await start(await loadWorkflowBundle(CHANGED), 'two');
  await settle('on', 'two');
  expect(await current()).toBe('one');
  await becomesCurrent('two');
  const onTwo = await waitingQuery();
  const alsoOnTwo = await waitingQuery();
  expect([await buildOf(onOne), await buildOf(onTwo)]).toEqual(['one', 'two']);
  await completes(onOne);
  await completes(onTwo);

  await rollBack(exchange.temporal);
  expect(await current()).toBe('one');
  const again = await waitingQuery();
  expect(await buildOf(again)).toBe('one');
  await completes(alsoOnOne);
  await completes(alsoOnTwo);
  await completes(again);
});

test('a ramp sends a share to the new build, and ends without leaving anything there', async () => {
  await ramp(exchange.temporal, 'two', 100);
  const ramped = await waitingQuery();
  expect(await buildOf(ramped)).toBe('two');
  const { document } = await buildStatus(exchange.temporal);
  expect(document).toMatchObject({
    current: 'one',
    ramping: { id: 'two', percent: 100 },
  });
  await rollBack(exchange.temporal);
  expect(await readBuilds(exchange.temporal)).not.toHaveProperty('ramping');
  await completes(ramped);
});

/**
 * Our workflows, whose runs stay with their build for a second, and not for a
 * minute as in production.
 */
async function impatientBundle(): Promise<{ code: string }> {
  const { code } = await workflowBundle();
  const changed = code.replace(/(const STAYS_MS = )60_?000;/, '$11_000;');
  expect(changed).not.toBe(code);
  return { code: changed };
}

test('a pinned redrive goes on with the build that has become current, where it was', async () => {
  await start(await impatientBundle(), 'impatient');
  await becomesCurrent('impatient');
  const { accountId } = await exchange.addAccount({
    limits: { networkQueriesPerMinute: 20 },
  });
  for (let count = 0; count < 20; count += 1) {
    const requestId = await exchange.addQuery(
      accountId,
      await exchange.addPatient(accountId),
      ['lab'],
    );
    await exchange.store.asAccount(accountId, (tx) =>
      failOpenAttempts(tx, { requestId, run: 0 }, 'away'),
    );
  }
  // It waits, first for the source, and then, after 14 of 20 retries, for the
  // next minute.
  await exchange.store.asSystem((tx) =>
    sql`insert into source_connection (connection, reason, opened_at, next_probe_at)
      values ('lab', 'away', now(), now() + interval '6 seconds')`.execute(
      tx.db,
    ),
  );
  const redriveId = uuidv7();
  const filter = {
    source: 'lab' as const,
    failedFrom: new Date(0),
    failedTo: new Date(),
    reason: null,
  };
  await exchange.store.asAccount(accountId, (tx) =>
    insertRedrive(tx, {
      ...filter,
      id: redriveId,
      actor: 'key:test',
      queries: 20,
    }),
  );
  const redrive = await exchange.temporal.workflow.start(
    WORKFLOW_TYPES.queryRedrive,
    {
      taskQueue: TASK_QUEUES.exchange,
      workflowId: queryRedriveWorkflowId(redriveId),
      args: [{ accountId, redriveId, pagesPerRun: 200 }],
    },
  );
  const latest = async () =>
    (await exchange.temporal.workflow.getHandle(redrive.workflowId).describe())
      .raw.workflowExecutionInfo;
  const build = async () =>
    (await latest())?.versioningInfo?.deploymentVersion?.buildId;
  await eventually(async () => (await build()) === 'impatient');
  await becomesCurrent('two');
  await eventually(async () => (await build()) === 'two');
  expect((await latest())?.execution?.runId).not.toBe(
    redrive.firstExecutionRunId,
  );
  await redrive.terminate();
  await becomesCurrent('one');
});

test('where all workers are replaced together, what was pinned to the earlier build goes on with the new one', async () => {
  const pinned = await waitingQuery();
  expect(await buildOf(pinned)).toBe('one');
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await start(await workflowBundle(), 'three');
  await settle('alone', 'three');
  expect(await current()).toBe('three');
  await completes(pinned);
});

test('a build without workers is refused, because all that it gets would wait', async () => {
  await expect(makeCurrent(exchange.temporal, 'four')).rejects.toThrow(
    /No worker of build four is running/,
  );
  expect(await current()).toBe('three');
});
