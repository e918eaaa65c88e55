import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { NETWORK_QUERY_MESSAGES } from '../../src/contract/network-query-workflow.ts';
import type { SourceType } from '../../src/contract/primitives.ts';
import type { Reconciled } from '../../src/contract/reconcile-workflow.ts';
import { createRoundCount } from '../../src/exchange/platform/recovery/reconcile-state-store.ts';
import { createReconciler } from '../../src/exchange/platform/recovery/reconciler.ts';
import {
  type SourceConnector,
  SourceFailure,
} from '../../src/exchange/sources/connectors/connector.ts';
import type { RunningTemporalServer } from '../../tools/embedded/temporal-server.ts';
import { startReceiver } from '../support/events-environment.ts';
import { copyTestDatabase, createTestDatabase } from '../support/postgres.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { startTestTemporalServer } from '../support/temporal-server.ts';
import {
  createTestExchange,
  type KeptParts,
  type TestExchange,
} from './network-query-exchange.ts';

const logger = pino({ level: 'silent' });
let folder: string;
let parts: KeptParts;
let exchange: TestExchange;
/** What the workflow reconcile remembers of its rounds. */
let last: Reconciled | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'restores-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));
afterEach(async () => {
  await exchange.close();
  await parts.receiver.close();
});

/** Starts a new system, and makes two rounds. */
async function begin(
  temporal?: Pick<KeptParts, 'temporalAddress' | 'namespace'>,
): Promise<void> {
  parts = {
    databaseUrl: (await createTestDatabase()).databaseUrl,
    blobFolder: await mkdtemp(join(folder, 'blobs-')),
    temporalAddress: temporal?.temporalAddress ?? inject('temporalAddress'),
    namespace: temporal?.namespace ?? (await createTestNamespace()),
    receiver: await startReceiver(),
  };
  exchange = await createTestExchange({ kept: parts });
  parts.accountId = exchange.accountId;
  last = undefined;
  await round();
  await round();
}

/** Stops the system and starts it on other parts. */
async function restartOn(
  changes: Partial<KeptParts>,
  between?: () => Promise<Partial<KeptParts>>,
): Promise<void> {
  await exchange.close();
  parts = { ...parts, ...changes, ...(await between?.()) };
  exchange = await createTestExchange({ kept: parts });
}

async function round(): Promise<Reconciled> {
  const { store, recovery } = exchange;
  const reconciler = createReconciler({
    roundCount: createRoundCount(store),
    recoveries: [recovery],
    isImporting: async () => false,
    logger,
  });
  last = await reconciler.round(last, new AbortController().signal);
  return last;
}

/**
 * A source that accepts requests as jobs. `state` decides what becomes of them.
 */
function jobs() {
  const asked: number[] = [];
  const source = {
    asked,
    state: 'pending' as 'pending' | 'ready' | 'failed',
    connector: {
      begin: async () => {
        asked.push(asked.length + 1);
        return {
          kind: 'accepted',
          job: { number: asked.length },
          retryAfterMs: 3_600_000,
        };
      },
      async poll(job) {
        if (source.state === 'pending')
          return { kind: 'pending', job, retryAfterMs: 3_600_000 };
        if (source.state === 'failed') {
          source.state = 'pending';
          throw new SourceFailure('job-failed', 'the job failed');
        }
        return { kind: 'ready', pages: scripted.pagesFrom(0) };
      },
      resume: scripted.resume,
    } as Partial<SourceConnector>,
  };
  return source;
}
const scripted = sourceOf([page([observation('a')])]);

const attemptsOf = async (requestId: string) =>
  (await exchange.view(exchange.accountId, requestId)).attempts.map(
    ({ source, attempt, status }) => ({
      source,
      attempt,
      status,
    }),
  );
const untilAttempt = (
  requestId: string,
  source: SourceType,
  attempt: number,
  status: string,
) =>
  expect
    .poll(() => attemptsOf(requestId), { timeout: 240_000 })
    .toContainEqual({ source, attempt, status });
const untilAccepted = (requestId: string, times = 1) =>
  expect
    .poll(
      async () =>
        (await exchange.timeline(exchange.accountId, requestId)).filter(
          ({ kind }) => kind === 'accepted',
        ).length,
      { timeout: 240_000 },
    )
    .toBe(times);
const callBack = (requestId: string, source: SourceType, attempt: number) =>
  exchange
    .handle(requestId)
    .signal(NETWORK_QUERY_MESSAGES.sourceCallback, { source, attempt });
const idsOf = (requestId: string, type: string) =>
  exchange
    .eventsOf(requestId)
    .flatMap(({ id, raw }) => (JSON.parse(raw).meta.type === type ? [id] : []));

test('PostgreSQL older: open queries go on, none fails, and no fact is announced under a second id', async () => {
  await begin();
  const hie = jobs();
  exchange.let('hie', hie.connector);
  const ended = await exchange.start(['hie', 'lab']);
  const ahead = await exchange.start(['hie']);
  await untilAttempt(ended, 'lab', 1, 'completed');
  await Promise.all([untilAccepted(ended), untilAccepted(ahead)]);
  await expect.poll(() => idsOf(ended, 'network-query.lab')).toHaveLength(1);
  let backup = '';
  await restartOn({}, async () => {
    backup = (await copyTestDatabase(parts.databaseUrl)).databaseUrl;
    return {};
  });

  // Lost with the restore: one query ends, one goes on to its second attempt,
  // and rounds are made.
  exchange.let('hie', hie.connector);
  hie.state = 'failed';
  await callBack(ahead, 'hie', 1);
  await untilAttempt(ahead, 'hie', 2, 'running');
  await untilAccepted(ahead, 2);
  hie.state = 'ready';
  await callBack(ended, 'hie', 1);
  await untilAttempt(ended, 'hie', 1, 'completed');
  await expect.poll(() => idsOf(ended, 'network-query.hie')).toHaveLength(1);
  await round();
  await round();

  await restartOn({ databaseUrl: backup });
  exchange.let('hie', hie.connector);
  expect((await exchange.view(exchange.accountId, ended)).status).toBe(
    'running',
  );
  const { suspicion } = await round();
  expect(suspicion).toBe('postgresql-is-older');
  await callBack(ended, 'hie', 1);
  await untilAttempt(ended, 'hie', 1, 'completed');
  expect((await exchange.view(exchange.accountId, ended)).status).toBe(
    'completed',
  );
  // The handle of its second request is lost with the row, so it asks once
  // more.
  await callBack(ahead, 'hie', 2);
  await untilAccepted(ahead, 2);
  await callBack(ahead, 'hie', 2);
  await untilAttempt(ahead, 'hie', 2, 'completed');
  expect(await attemptsOf(ahead)).toEqual([
    { source: 'hie', attempt: 1, status: 'failed' },
    { source: 'hie', attempt: 2, status: 'completed' },
  ]);
  expect((await exchange.view(exchange.accountId, ahead)).status).toBe(
    'completed',
  );

  await expect.poll(() => idsOf(ended, 'network-query.hie')).toHaveLength(2);
  expect(new Set(idsOf(ended, 'network-query.hie')).size).toBe(1);
  expect(idsOf(ended, 'network-query.lab')).toHaveLength(1);
  expect((await round()).suspicion).toBeUndefined();
});

test('Temporal lost: an open query goes on from its newest attempt, without asking again', async () => {
  await begin();
  const hie = jobs();
  exchange.let('hie', hie.connector);
  const requestId = await exchange.start(['hie']);
  await untilAccepted(requestId);
  hie.state = 'failed';
  await callBack(requestId, 'hie', 1);
  await untilAccepted(requestId, 2);

  await restartOn({ namespace: await createTestNamespace() });
  exchange.let('hie', hie.connector);
  last = undefined;
  expect(await round()).toMatchObject({ suspicion: 'temporal-is-older' });
  hie.state = 'ready';
  await callBack(requestId, 'hie', 2);
  await untilAttempt(requestId, 'hie', 2, 'completed');
  expect(hie.asked).toEqual([1, 2]);
  expect(await attemptsOf(requestId)).toHaveLength(2);
  expect((await round()).suspicion).toBeUndefined();
});

test('Temporal older: what it has forgotten is started again, what has ended stays ended', async () => {
  const current = join(folder, 'temporal');
  const copy = join(folder, 'temporal-copy');
  let server: RunningTemporalServer = await startTestTemporalServer(current);
  try {
    await begin({ temporalAddress: server.address, namespace: 'default' });
    const hie = jobs();
    exchange.let('hie', hie.connector);
    const old = await exchange.start(['hie']);
    await untilAccepted(old);
    const remembered = last;
    const restartServer = (whileDown: () => Promise<void>) => async () => {
      await server.stop();
      await whileDown();
      server = await startTestTemporalServer(current);
      return { temporalAddress: server.address };
    };
    await restartOn(
      {},
      restartServer(() => cp(current, copy, { recursive: true })),
    );

    exchange.let('hie', hie.connector);
    const forgotten = await exchange.start(['hie']);
    await untilAccepted(forgotten);
    hie.state = 'ready';
    await callBack(old, 'hie', 1);
    await untilAttempt(old, 'hie', 1, 'completed');
    await expect.poll(() => idsOf(old, 'network-query.hie')).toHaveLength(1);
    await round();
    await round();

    await restartOn(
      {},
      restartServer(async () => {
        await rm(current, { recursive: true });
        await cp(copy, current, { recursive: true });
      }),
    );
    exchange.let('hie', hie.connector);
    last = remembered;
    expect(await round()).toMatchObject({ suspicion: 'temporal-is-older' });
    await callBack(forgotten, 'hie', 1);
    await untilAttempt(forgotten, 'hie', 1, 'completed');
    await callBack(old, 'hie', 1);
    await exchange.handle(old).result();
    expect(hie.asked).toEqual([1, 2]);
    expect(idsOf(old, 'network-query.hie')).toHaveLength(1);
  } finally {
    await server.stop();
  }
});
