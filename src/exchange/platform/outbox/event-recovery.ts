import type { Store } from '../database/database.ts';
import { itemRecovery, type Recovery } from '../recovery/recovery.ts';
import { overdueEvents } from './hand-over-store.ts';
import type { WebhookDispatcher } from './webhook-dispatcher.ts';

/** The process that committed an event has this long to send it itself. */
const GRACE_MS = 30_000;

/** Starts the delivery of committed events that no webhook dispatcher sent, because of a crash. */
export const eventRecovery = (deps: {
  store: Pick<Store, 'asSystem'>;
  webhookDispatcher: Pick<WebhookDispatcher, 'handOver'>;
}): Recovery =>
  itemRecovery({
    name: 'webhooks',
    find: (limit) => deps.store.asSystem((tx) => overdueEvents(tx, { olderThanMs: GRACE_MS, limit })),
    async heal({ accountId, eventId, attempts }) {
      await deps.webhookDispatcher.handOver(accountId, eventId, { attemptsMade: attempts });
      return true;
    },
  });
