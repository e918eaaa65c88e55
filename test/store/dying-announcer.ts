import type { Client } from '@temporalio/client';
import { v7 as uuidv7 } from 'uuid';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import { createDeliveries } from '../support/events-environment.ts';

/**
 * A process that announces the ends of queries, and sends them, until it is
 * killed.
 */
const [databaseUrl = '', accountId = '', patientIds = ''] =
  process.argv.slice(2);
const store = createStore({ databaseUrl });
const { webhookDispatcher } = createDeliveries(
  store,
  undefined as unknown as Client,
);
store.onEventsCommitted((account, ids) => webhookDispatcher.send(account, ids));

async function announceFor(patientId: string): Promise<void> {
  for (;;)
    await store.asAccount(accountId, (tx) =>
      insertEvent(tx, {
        type: 'network-query.lab',
        factKey: uuidv7(),
        patientId,
        occurredAt: new Date(),
        body: {
          meta: { type: 'network-query.lab' },
          payload: { source: { status: 'completed' } },
        },
      }),
    );
}
await Promise.all(patientIds.split(',').map(announceFor));
