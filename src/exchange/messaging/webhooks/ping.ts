import type { Logger } from '../../../lib/logger.ts';
import type { Store } from '../../platform/database/database.ts';
import type { WebhookSender } from '../../platform/outbox/sender.ts';
import type { WebhookDispatcher } from '../../platform/outbox/webhook-dispatcher.ts';
import { createBackground } from '../../platform/workflows/start-workflow.ts';
import { findDestinationById, setHealth } from './destination-store.ts';
import { countUndelivered } from './replay-store.ts';
import { findDestination } from './settings-store.ts';

export type DestinationPing = ReturnType<typeof createDestinationPing>;

export function createDestinationPing(deps: {
  store: Store;
  sender: Pick<WebhookSender, 'ping'>;
  webhookDispatcher: Pick<WebhookDispatcher, 'handOver'>;
  logger: Logger;
}) {
  const background = createBackground(deps.logger);

  async function check(
    accountId: string,
    destinationId?: string,
  ): Promise<void> {
    const destination = await deps.store.asAccount(accountId, (tx) =>
      destinationId === undefined
        ? findDestination(tx)
        : findDestinationById(tx, destinationId),
    );
    if (
      destination === undefined ||
      destination.url === null ||
      destination.key === null
    )
      return;
    const { id, url, key } = destination;
    const health = (await deps.sender.ping({ url, keys: [key] }))
      ? 'healthy'
      : 'failing';
    const { pending } = await deps.store.asAccount(accountId, async (tx) => {
      await setHealth(tx, { id, url }, health);
      return countUndelivered(tx, id);
    });
    if (health === 'healthy' && pending > 0)
      await deps.webhookDispatcher.handOver(accountId, id, 'deliverNow');
  }

  return {
    /**
     * Pings a destination in the background and records its health. If it
     * answers, events that wait for it are sent. Without `destinationId`, pings
     * the destination of the settings.
     */
    ping(accountId: string, destinationId?: string): void {
      background.run('could not ping a webhook destination', {}, () =>
        check(accountId, destinationId),
      );
    },
    drain: () => background.drain(),
  };
}
