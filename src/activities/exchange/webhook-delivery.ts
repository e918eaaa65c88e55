import { cancellationSignal } from '@temporalio/activity';
import type { Store } from '../../exchange/platform/database/database.ts';
import type { WebhookDelivery } from '../../exchange/platform/outbox/delivery.ts';
import { drainDestination } from '../../exchange/platform/outbox/destination-drain.ts';
import type { Look } from '../../exchange/platform/outbox/look-store.ts';

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;

/** Result of `deliverDue`. */
export interface DeliveredDue {
  look: Look;
  sent: number;
  /** Result of the latest attempt that failed. */
  note?: string;
}

export const createWebhookActivities = (deps: {
  store: Store;
  delivery: Pick<WebhookDelivery, 'claimDue' | 'attemptClaimed'>;
}) => ({
  /** Sends the events of a destination that are due, for some seconds. */
  deliverDue: (of: {
    accountId: string;
    destinationId: string;
    dueNow: boolean;
  }): Promise<DeliveredDue> => drainDestination(deps, of, cancellationSignal()),
});
