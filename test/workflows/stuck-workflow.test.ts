import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { SourceType } from '../../src/contract/primitives.ts';
import { createNetworkQueryService } from '../../src/exchange/queries/network-query/service.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { CALLBACK_KEY } from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';
import { eventually, untilStuck } from './network-query-environment.ts';
import {
  busy,
  createTestExchange,
  refusing,
  type TestExchange,
} from './network-query-exchange.ts';

/**
 * Our workflows with one step more than they had when their open runs began.
 */
const BROKEN = fileURLToPath(
  new URL('../replay/broken-workflows.ts', import.meta.url),
);
let exchange: TestExchange;
let stopBroken: (() => Promise<void>) | undefined;
beforeEach(async () => {
  exchange = await createTestExchange();
});
afterEach(async () => {
  await stopBroken?.();
  stopBroken = undefined;
  await exchange.close();
});

const view = (requestId: string) =>
  exchange.view(exchange.accountId, requestId);
const statusesOf = async (requestId: string) =>
  Object.fromEntries(
    (await view(requestId)).attempts.map(({ source, status }) => [
      source,
      status,
    ]),
  );
const answering = (source: SourceType) =>
  sourceOf([page([observation(`${source}-1`)])]);

const control = (commandTimeoutMs = 2_000) =>
  createNetworkQueryService({
    store: exchange.store,
    temporal: exchange.temporal,
    callbackKey: CALLBACK_KEY,
    commandTimeoutMs,
    logger: pino({ level: 'silent' }),
  });

/**
 * A query whose sources have accepted it (or refused it, as the test lets
 * them).
 */
async function waitingQuery(sources: readonly SourceType[]): Promise<string> {
  const requestId = await exchange.start(sources);
  await eventually(async () =>
    (await exchange.timeline(exchange.accountId, requestId)).some(
      ({ kind }) => kind === 'accepted',
    ),
  );
  return requestId;
}

/**
 * Replaces the workers by those of a faulty deploy, until the workflow's tasks
 * have failed several times.
 */
async function stick(requestId: string): Promise<void> {
  await exchange.stopWorkers();
  stopBroken = await exchange.startWorkers(await loadWorkflowBundle(BROKEN));
  await exchange
    .handle(requestId)
    .signal('sourceCallback', { source: 'hie', attempt: 1 });
  await untilStuck(exchange.handle(requestId));
}

test('a caller can cancel a query whose workflow a faulty deploy has stuck', async () => {
  exchange.let('hie', busy);
  const requestId = await waitingQuery(['hie']);
  await stick(requestId);
  await control().cancelQuery(exchange.accountId, requestId);
  expect(await view(requestId)).toMatchObject({
    status: 'failed',
    attempts: [{ status: 'failed', reason: 'Cancelled on request' }],
  });
  expect((await exchange.handle(requestId).describe()).status.name).toBe(
    'TERMINATED',
  );
  await eventually(() => exchange.eventsOf(requestId).length === 1);
});

test('a caller can give up a source of a stuck query, and its other sources go on', async () => {
  exchange.let('hie', busy);
  exchange.let('lab', busy);
  const requestId = await waitingQuery(['hie', 'lab']);
  await eventually(async () => (await statusesOf(requestId)).lab === 'running');
  await stick(requestId);
  await control().giveUpSource(exchange.accountId, requestId, 'lab');
  expect(await statusesOf(requestId)).toEqual({
    hie: 'running',
    lab: 'failed',
  });

  exchange.let('hie', { ...busy, ...ready('hie') });
  await exchange
    .handle(requestId)
    .signal('sourceCallback', { source: 'hie', attempt: 1 });
  await eventually(async () => (await view(requestId)).status === 'partial');
  expect(await statusesOf(requestId)).toEqual({
    hie: 'completed',
    lab: 'failed',
  });
});

test('a caller can retry a failed source of a stuck query, and its other sources go on', async () => {
  exchange.let('hie', busy);
  exchange.let('lab', refusing);
  const requestId = await waitingQuery(['hie', 'lab']);
  await eventually(async () => (await statusesOf(requestId)).lab === 'failed');
  await stick(requestId);
  exchange.let('lab', answering('lab'));
  exchange.let('hie', { ...busy, ...ready('hie') });
  await control().retrySource(exchange.accountId, requestId, 'lab');
  await exchange
    .handle(requestId)
    .signal('sourceCallback', { source: 'hie', attempt: 1 });
  await eventually(async () => (await view(requestId)).status === 'completed');
});

test('a caller can give up a source while no worker of the workflow’s build runs', async () => {
  exchange.let('hie', busy);
  exchange.let('lab', busy);
  const requestId = await waitingQuery(['hie', 'lab']);
  await eventually(async () => (await statusesOf(requestId)).lab === 'running');
  await exchange.stopWorkers();
  const giveUp = () =>
    control(300).giveUpSource(exchange.accountId, requestId, 'lab');
  await eventually(() =>
    giveUp().then(
      () => true,
      () => false,
    ),
  );
  expect(await statusesOf(requestId)).toEqual({
    hie: 'running',
    lab: 'failed',
  });
});

/** The request that the source accepted is ready when it is polled next. */
function ready(
  source: SourceType,
): Partial<Parameters<TestExchange['let']>[1]> {
  return { poll: async () => ({ kind: 'ready', pages: pagesOf(source) }) };
}

async function* pagesOf(source: SourceType) {
  yield page([observation(`${source}-1`)]);
}
