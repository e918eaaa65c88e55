import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNetworkQueryService } from '../../src/exchange/network-query/service.ts';
import { loadWorkflowBundle } from '../../src/temporal/workflow-bundle.ts';
import { CALLBACK_KEY } from '../support/network-query-environment.ts';
import { eventually } from './network-query-environment.ts';
import { busy, createTestExchange, type TestExchange } from './network-query-exchange.ts';

/** Our workflows with one step more than they had when their open runs began. */
const BROKEN = fileURLToPath(new URL('../replay/broken-workflows.ts', import.meta.url));
let exchange: TestExchange;
let stopBroken: (() => Promise<void>) | undefined;
beforeAll(async () => {
  exchange = await createTestExchange();
});
afterAll(async () => {
  await stopBroken?.();
  await exchange.close();
});

const view = (requestId: string) => exchange.view(exchange.accountId, requestId);
const failedTasks = async (requestId: string) =>
  (await exchange.handle(requestId).describe()).raw.pendingWorkflowTask?.attempt ?? 0;

test('a caller can cancel a query whose workflow a faulty deploy has stuck', async () => {
  exchange.let('hie', busy);
  const requestId = await exchange.start(['hie']);
  await eventually(async () =>
    (await exchange.timeline(exchange.accountId, requestId)).some(({ kind }) => kind === 'accepted'),
  );

  await exchange.stopWorkers();
  stopBroken = await exchange.startWorkers(await loadWorkflowBundle(BROKEN));
  await exchange.handle(requestId).signal('sourceCallback', { source: 'hie', attempt: 1 });
  await eventually(async () => (await failedTasks(requestId)) > 2);

  const { store, temporal, accountId } = exchange;
  const control = createNetworkQueryService({
    ...{ store, temporal, callbackKey: CALLBACK_KEY, commandTimeoutMs: 2_000 },
    logger: pino({ level: 'silent' }),
  });
  await control.cancelQuery(accountId, requestId);
  expect(await view(requestId)).toMatchObject({
    status: 'failed',
    attempts: [{ status: 'failed', reason: 'Cancelled on request' }],
  });
  expect((await exchange.handle(requestId).describe()).status.name).toBe('TERMINATED');
  await eventually(() => exchange.eventsOf(requestId).length === 1);
});
