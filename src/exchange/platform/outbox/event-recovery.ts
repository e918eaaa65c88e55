import type { Store } from '../database/database.ts';
import { itemRecovery, type Recovery } from '../recovery/recovery.ts';
import { overdueDestinations } from './look-store.ts';
import type { WebhookDispatcher } from './webhook-dispatcher.ts';

/** The process that committed an event has this long to send it itself. */
const GRACE_MS = 30_000;

/** Starts the workflows of destinations with committed events that were not sent in time, because of a crash. */
export const eventRecovery = (deps: {
  store: Pick<Store, 'asSystem'>;
  webhookDispatcher: Pick<WebhookDispatcher, 'handOver'>;
}): Recovery =>
  itemRecovery({
    name: 'webhooks',
    find: (limit) => deps.store.asSystem((tx) => overdueDestinations(tx, { graceMs: GRACE_MS, limit })),
    async heal({ accountId, destinationId }) {
      await deps.webhookDispatcher.handOver(accountId, destinationId);
      return true;
    },
  });
