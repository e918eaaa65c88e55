import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, expect, inject, test, vi } from 'vitest';
import { API_KEY_ACCESS } from '../../src/contract/patient-onboarding.ts';
import {
  PRIORITY,
  RECONCILE_WORKFLOW_ID,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  keepReconcileLoop,
  startReconcileLoop,
} from '../../src/exchange/platform/recovery/reconcile-loop.ts';
import {
  startOnce,
  type WorkflowStart,
} from '../../src/exchange/platform/workflows/start-workflow.ts';
import { startOnboarding } from '../../src/orchestrator/patient-onboarding/start-onboarding.ts';
import { createEncryptionCodec } from '../../src/temporal/codec.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import { historyTreesOf } from '../support/history-trees.ts';
import { findWords, wordsOf } from '../support/personal-words.ts';
import { sample } from '../support/simulator.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { TEST_ID_HMAC_KEY, testKeyRing } from '../support/test-keys.ts';

let client: Client;
beforeAll(async () => {
  client = new Client({
    connection: await openConnection({ address: inject('temporalAddress') }),
    namespace: await createTestNamespace(),
    dataConverter: createDataConverter(testKeyRing()),
  });
});
afterAll(() => client.connection.close());

const started = (rest: Partial<WorkflowStart>): WorkflowStart => ({
  type: WORKFLOW_TYPES.networkQuery,
  id: `network-query/${randomUUID()}`,
  input: {},
  accountId: randomUUID(),
  priority: PRIORITY.interactive,
  summary: 'A query',
  isOpen: async () => true,
  ...rest,
});

test('work that is looked at again leaves no history beside that of its run, whatever became of it', async () => {
  const seen = started({ wasSeen: true });
  for (const _ of [1, 2, 3]) expect(await startOnce(client, seen)).toBe('open');
  expect(await historyTreesOf(seen.id)).toHaveLength(1);

  await client.workflow.getHandle(seen.id).terminate();
  for (const _ of [1, 2]) expect(await startOnce(client, seen)).toBe('closed');
  expect(await historyTreesOf(seen.id)).toHaveLength(1);
});

test('a signal that starts its workflow if none runs leaves no history beside that of its run', async () => {
  const signalled = started({ signal: 'uploaded' });
  for (const _ of [1, 2, 3])
    expect(await startOnce(client, signalled)).toBe('open');
  expect(await historyTreesOf(signalled.id)).toHaveLength(1);
});

test('the checks of the loop leave no history beside that of its run', async () => {
  await startReconcileLoop(client, 3_600);
  const { namespaceInfo } = await client.workflowService.describeNamespace({
    namespace: client.options.namespace,
  });
  // Other tests' namespaces have a loop, too.
  const loop = `${namespaceInfo?.id}:${RECONCILE_WORKFLOW_ID}`;
  const stop = keepReconcileLoop(
    { temporal: client, logger: { warn: vi.fn() } },
    { intervalSeconds: 3_600, checkEveryMs: 20 },
  );
  await delay(300);
  stop();
  expect(await historyTreesOf(loop)).toHaveLength(1);
});

test('an onboarding that is started again by any door sends nothing of the person to Temporal', async () => {
  const keith = sample('keith-kiehn');
  const request = {
    jobId: `job-${randomUUID()}`,
    facilityId: 'f',
    patient: keith.createBody,
  };
  const access = { exchange: API_KEY_ACCESS, idHmacKey: TEST_ID_HMAC_KEY };
  const first = await startOnboarding(client, request, access);
  expect(first.isNew).toBe(true);
  const intake = { ...access, intakeMessageId: 'm1' };
  for (const options of [access, intake, intake]) {
    const again = await startOnboarding(client, request, options);
    expect(again).toMatchObject({ isNew: false, isOther: false });
  }
  const trees = await historyTreesOf(
    first.workflowId,
    createEncryptionCodec(testKeyRing()),
  );
  expect(trees).toHaveLength(1);
  expect(findWords(trees[0]?.text ?? '', wordsOf(keith))).not.toEqual([]);

  await first.handle.terminate();
  for (const options of [access, intake])
    await startOnboarding(client, request, options);
  expect(await historyTreesOf(first.workflowId)).toHaveLength(1);
});
