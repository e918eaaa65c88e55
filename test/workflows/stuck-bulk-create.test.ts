import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBulkCreateService } from '../../src/exchange/people/bulk-create/service.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import {
  type BulkExchange,
  countingEngine,
  createBulkExchange,
} from './bulk-create-environment.ts';
import { eventually, untilStuck } from './network-query-environment.ts';

/**
 * Our workflows with one step more than they had when their open runs began.
 */
const BROKEN = fileURLToPath(
  new URL('../replay/broken-workflows.ts', import.meta.url),
);
let exchange: BulkExchange;
let stopBroken: (() => Promise<void>) | undefined;
beforeAll(async () => {
  const plans = { panel: { chunks: 2, beforeChunk: async () => pauseAll() } };
  exchange = await createBulkExchange((parts) => countingEngine(parts, plans));
});
afterAll(async () => {
  await stopBroken?.();
  await exchange.close();
});

let isPausing = true;
/** As a pause that arrives during the first chunk. */
async function pauseAll(): Promise<void> {
  if (isPausing)
    await exchange.store.asAccount(exchange.accountId, (tx) =>
      sql`update bulk_request set paused = true`.execute(tx.db),
    );
}

const stateNow = (requestId: string) =>
  exchange
    .handle(requestId)
    .query<{ state: string }>('status')
    .then(
      ({ state }) => state,
      () => undefined,
    );

async function pausedBulkCreate(): Promise<string> {
  const requestId = await exchange.start({ launch: false });
  await exchange.upload(requestId, 'panel', false);
  await exchange.service.launcher.start(exchange.accountId, requestId);
  await eventually(async () => (await stateNow(requestId)) === 'paused');
  return requestId;
}

test('a caller can pause, resume and cancel bulk creates whose workflows a faulty deploy has stuck', async () => {
  const paused = await pausedBulkCreate();
  const resumed = await pausedBulkCreate();
  const cancelled = await pausedBulkCreate();
  const all = [paused, resumed, cancelled];
  isPausing = false;
  await exchange.stopWorkers();
  stopBroken = await exchange.startWorkers(await loadWorkflowBundle(BROKEN));
  for (const id of all) await exchange.handle(id).signal('uploaded');
  for (const id of all) await untilStuck(exchange.handle(id));

  const { store, blobs, temporal, accountId } = exchange;
  const control = createBulkCreateService({
    store,
    blobs,
    temporal,
    commandTimeoutMs: 2_000,
    logger: pino({ level: 'silent' }),
  });
  expect(await control.cancelBulkCreate(accountId, cancelled)).toMatchObject({
    status: 'failed',
  });
  expect((await exchange.handle(cancelled).describe()).status.name).toBe(
    'TERMINATED',
  );

  expect(await control.resumeBulkCreate(accountId, resumed)).toMatchObject({
    paused: false,
  });
  expect(await exchange.handle(resumed).result()).toMatchObject({
    state: 'completed',
  });

  await exchange.change(paused, sql`paused = false`);
  expect(await control.pauseBulkCreate(accountId, paused)).toMatchObject({
    paused: true,
  });
  await eventually(async () => (await stateNow(paused)) === 'paused');
  await exchange.service.resumeBulkCreate(accountId, paused);
  expect(await exchange.handle(paused).result()).toMatchObject({
    state: 'completed',
  });
});
