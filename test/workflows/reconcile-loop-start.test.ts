import { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { RECONCILE_WORKFLOW_ID } from '../../src/contract/temporal.ts';
import {
  keepReconcileLoop,
  startReconcileLoop,
} from '../../src/exchange/platform/recovery/reconcile-loop.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';

let temporal: Client;
beforeAll(async () => {
  const connection = await openConnection({
    address: inject('temporalAddress'),
  });
  temporal = new Client({ connection, namespace: await createTestNamespace() });
});
afterAll(() => temporal.connection.close());

const loop = () => temporal.workflow.getHandle(RECONCILE_WORKFLOW_ID);
const signals = async () =>
  ((await loop().fetchHistory()).events ?? []).flatMap(
    ({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal?.signalName == null ? [] : [signal.signalName],
  );
const inputOf = async () => {
  const [first] = (await loop().fetchHistory()).events ?? [];
  const [payload] =
    first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  return JSON.parse(Buffer.from(payload?.data ?? '').toString());
};

test('workers that start together start one loop; each has it make a round', async () => {
  await Promise.all(
    Array.from({ length: 5 }, () => startReconcileLoop(temporal, 15)),
  );
  expect(await inputOf()).toEqual({ intervalMs: 15_000 });
  expect(await signals()).toEqual(Array.from({ length: 5 }, () => 'roundDue'));
});

test('a loop that was terminated is started again by a worker that runs', async () => {
  const { runId } = await loop().describe();
  const stop = keepReconcileLoop(
    { temporal, logger: { warn: vi.fn() } },
    { intervalSeconds: 15, checkEveryMs: 50 },
  );
  try {
    await loop().terminate('by hand');
    await expect
      .poll(async () => (await loop().describe()).status.name)
      .toBe('RUNNING');
    const again = await loop().describe();
    expect(again.runId).not.toBe(runId);
    // While it runs, the checks leave no trace.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect((await loop().describe()).runId).toBe(again.runId);
    expect(await signals()).toEqual([]);
  } finally {
    stop();
  }
});
