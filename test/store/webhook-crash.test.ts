import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '@temporalio/client';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import { createWebhookActivities } from '../../src/activities/exchange/webhook-delivery.ts';
import { eventRecovery } from '../../src/exchange/platform/outbox/destination-drain.ts';
import {
  addEvent,
  createDeliveries,
  startReceiver,
} from '../support/events-environment.ts';
import { queryTest as test } from '../support/fixtures.ts';
import { runActivity } from '../support/network-query-environment.ts';
import { takeUp } from '../support/take-up.ts';

const PATIENTS = 20;
const EVENTS_OF_EACH = 5;
/** Deliveries that a process has in progress to one destination. */
const IN_PROGRESS_MAX = 10;

test('a process that is killed while it sends loses no webhook: each arrives, those of a patient in their order', async ({
  environment,
}) => {
  const { store, databaseUrl } = environment;
  const killed = {
    at: 30,
    child: undefined as ReturnType<typeof fork> | undefined,
  };
  const receiver = await startReceiver((_, response) => {
    if (receiver.received.length === killed.at) killed.child?.kill('SIGKILL');
    else setTimeout(() => response.end(), 5);
  });
  const { accountId } = await environment.addAccount({}, receiver.url);
  const patients = Array.from({ length: PATIENTS }, () => uuidv7());
  const idsOf = new Map<string, string[]>(
    patients.map((patientId) => [patientId, []]),
  );
  for (let round = 0; round < EVENTS_OF_EACH; round++)
    for (const patientId of patients)
      idsOf.get(patientId)?.push(await addEvent(store, accountId, patientId));
  const all = [...idsOf.values()].flat();

  const script = fileURLToPath(
    new URL('./dying-dispatcher.ts', import.meta.url),
  );
  killed.child = fork(script, [databaseUrl, accountId, all.join(',')], {
    execArgv: [],
  });
  const [, signal] = await once(killed.child, 'exit');
  expect(signal).toBe('SIGKILL');

  // The claims of a dead process are respected for some seconds, and reconcile
  // waits as long; both are made to be over.
  await store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('event')
      .set({
        opened_at: sql`opened_at - interval '1 minute'`,
        last_attempt_at: sql`last_attempt_at - interval '1 minute'`,
      })
      .execute(),
  );
  const destinations: string[] = [];
  const handOver = async (_accountId: string, destinationId: string) =>
    void destinations.push(destinationId);
  await takeUp(eventRecovery({ store, webhookDispatcher: { handOver } }));
  expect(destinations).toHaveLength(1);
  const { delivery } = createDeliveries(store, undefined as unknown as Client);
  const { deliverDue } = createWebhookActivities({ store, delivery });
  const [destinationId = ''] = destinations;
  for (let state = ''; state !== 'empty'; )
    state = (
      await runActivity(deliverDue, { accountId, destinationId, dueNow: false })
    ).look.state;

  const received = receiver.received.map(({ id }) => id);
  expect(new Set(received)).toEqual(new Set(all));
  for (const ids of idsOf.values())
    expect([...new Set(received.filter((id) => ids.includes(id)))]).toEqual(
      ids,
    );
  // Only what was in progress when the process died can arrive twice.
  expect(received.length - all.length).toBeLessThanOrEqual(IN_PROGRESS_MAX);
  const rows = await store.asAccount(accountId, (tx) =>
    tx.db.selectFrom('event').select('status').distinct().execute(),
  );
  expect(rows).toEqual([{ status: 'delivered' }]);
  await receiver.close();
});
