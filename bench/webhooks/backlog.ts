import { sql } from 'kysely';
import { findDestination } from '../../src/exchange/messaging/webhooks/settings-store.ts';
import type { Store } from '../../src/exchange/platform/database/database.ts';
import { createWebhookDelivery } from '../../src/exchange/platform/outbox/delivery.ts';
import { drainDestination } from '../../src/exchange/platform/outbox/destination-drain.ts';
import type { WebhookSender } from '../../src/exchange/platform/outbox/sender.ts';

/**
 * Runs `measure` while the waiting events of an account are sent, as its
 * destination's workflow does.
 */
export async function besideBacklog<T>(
  deps: { store: Store; sender: WebhookSender },
  accountId: string,
  events: number,
  measure: () => Promise<T>,
): Promise<T> {
  const destination = await deps.store.asAccount(accountId, findDestination);
  if (destination === undefined)
    throw new Error('the account has no destination');
  const destinationId = destination.id;
  await deps.store.asAccount(accountId, (tx) =>
    sql`
      insert into event (id, account_id, patient_id, destination_id, type, fact_key, body, occurred_at, status)
      select gen_random_uuid(), ${accountId}, gen_random_uuid(), ${destinationId}, 'network-query.hie', 'bench/' || n,
        jsonb_build_object('meta', jsonb_build_object('type', 'network-query.hie'), 'payload', '{}'::jsonb), now(), 'pending'
      from generate_series(1, ${events}::int) as n`.execute(tx.db),
  );
  const stop = new AbortController();
  const delivery = createWebhookDelivery(deps);
  const draining = (async () => {
    while (!stop.signal.aborted)
      await drainDestination(
        { store: deps.store, delivery },
        { accountId, destinationId, dueNow: false },
        stop.signal,
      );
  })();
  try {
    return await measure();
  } finally {
    stop.abort();
    await draining;
    await deps.store.asAccount(accountId, (tx) =>
      tx.db.deleteFrom('event').execute(),
    );
  }
}
