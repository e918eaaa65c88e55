import type { Client } from '@temporalio/client';
import { webhookDeliveryWorkflowId } from '../../contract/temporal.ts';
import { WEBHOOK_DELIVERY_MESSAGES } from '../../contract/webhook-delivery-workflow.ts';
import type { DeliveryOutcome, WebhookDelivery } from '../../exchange/platform/outbox/delivery.ts';
import type { WebhookDispatcher } from '../../exchange/platform/outbox/webhook-dispatcher.ts';

export type WebhookActivities = ReturnType<typeof createWebhookActivities>;

export function createWebhookActivities(deps: {
  delivery: WebhookDelivery;
  webhookDispatcher: Pick<WebhookDispatcher, 'resume'>;
  temporal: Client;
}) {
  return {
    /** Makes one attempt to deliver an event. After its end, signals the patient's next event that it may be sent. */
    async deliverEvent(event: { accountId: string; eventId: string }): Promise<DeliveryOutcome> {
      const outcome = await deps.delivery.attempt(event.accountId, event.eventId);
      const next =
        outcome.state === 'delivered' || outcome.state === 'dead' ? outcome.nextEventId : undefined;
      if (next !== undefined) {
        await deps.temporal.workflow
          .getHandle(webhookDeliveryWorkflowId(next))
          .signal(WEBHOOK_DELIVERY_MESSAGES.deliverNow)
          // The next event has no workflow waiting; send it directly.
          .catch(() => deps.webhookDispatcher.resume(event.accountId, [next]));
      }
      return outcome;
    },
  };
}
