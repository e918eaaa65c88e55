import { cancellationSignal } from '@temporalio/activity';
import type { Store } from '../../exchange/platform/database/database.ts';
import type { DeliveryOutcome, WebhookDelivery } from '../../exchange/platform/outbox/delivery.ts';
import { drainDestination } from '../../exchange/platform/outbox/destination-drain.ts';
import { type Look, makeEventDue } from '../../exchange/platform/outbox/look-store.ts';
import type { WebhookDispatcher } from '../../exchange/platform/outbox/webhook-dispatcher.ts';

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;
export type EarlierWebhookActivities = ReturnType<typeof createEarlierWebhookActivities>;

/** Result of `deliverDue`. */
export interface DeliveredDue {
  look: Look;
  sent: number;
  /** Result of the latest attempt that failed. */
  note?: string;
}

export function createWebhookActivities(deps: {
  store: Store;
  delivery: Pick<WebhookDelivery, 'claimDue' | 'attemptClaimed'>;
}) {
  return {
    /** Sends the events of a destination that are due, for some seconds. */
    deliverDue: (of: { accountId: string; destinationId: string; dueNow: boolean }): Promise<DeliveredDue> =>
      drainDestination(deps, of, cancellationSignal()),
  };
}

/** For `webhookDelivery` workflows, which earlier versions started for single events. */
export function createEarlierWebhookActivities(deps: {
  store: Store;
  webhookDispatcher: Pick<WebhookDispatcher, 'handOver'>;
}) {
  return {
    /** Hands an event over to the workflow of its destination, which sends it now; the event's own workflow then ends. */
    async deliverEvent({
      accountId,
      eventId,
    }: {
      accountId: string;
      eventId: string;
    }): Promise<DeliveryOutcome> {
      const destinationId = await deps.store.asAccount(accountId, (tx) => makeEventDue(tx, eventId));
      if (destinationId !== undefined) await deps.webhookDispatcher.handOver(accountId, destinationId);
      return { state: 'closed' };
    },
  };
}
