import {
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { EarlierWebhookActivities } from '../../../activities/exchange/webhook-delivery.ts';
import {
  WEBHOOK_DELIVERY_MESSAGES as MESSAGES,
  type WebhookDeliveryInput,
  type WebhookDeliveryProgress,
} from '../../../contract/webhook-delivery-workflow.ts';
import { deliveryDelayMs } from '../../../exchange/platform/outbox/rules/delivery-schedule.ts';
import { backOff } from '../../shared/pacing.ts';

const { deliverEvent } = proxyActivities<EarlierWebhookActivities>({
  startToCloseTimeout: '45 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  summary: 'Send the webhook',
});

const BLOCKED_FIRST_MS = 5_000;
const BLOCKED_MAX_MS = 60 * 60_000;

/**
 * Delivers one webhook whose first attempt failed. Earlier versions started it; now `webhookDestination` delivers, and the
 * next `deliverEvent` ends this workflow. Remove it when none is open any more.
 *
 * Durable because the attempts span more than three days. Keyed by the event id. PostgreSQL counts the attempts, so an
 * attempt that ran twice counts as two. An event that must wait for an earlier one of the same patient checks again, less
 * and less often, and is signaled when it may be sent. History: about 100 events.
 */
export async function webhookDelivery(input: WebhookDeliveryInput): Promise<WebhookDeliveryProgress> {
  const progress: WebhookDeliveryProgress = {
    eventId: input.eventId,
    state: 'waiting',
    attemptsMade: input.attemptsMade,
  };
  let deliverNow = false;
  setHandler(defineQuery<WebhookDeliveryProgress>(MESSAGES.status), () => ({ ...progress }));
  setHandler(defineSignal(MESSAGES.deliverNow), () => {
    deliverNow = true;
  });

  async function waitOr(waitMs: number, why: string): Promise<void> {
    progress.state = 'waiting';
    setCurrentDetails(
      `Attempt ${progress.attemptsMade + 1} at ${new Date(Date.now() + waitMs).toISOString()}: ${why}`,
    );
    if (waitMs > 0) await condition(() => deliverNow, waitMs, { summary: why });
    deliverNow = false;
  }

  const { attemptsMade, retryAfterMs } = input;
  await waitOr(deliveryDelayMs(attemptsMade, Math.random(), retryAfterMs) ?? 0, 'the first attempt failed');
  for (let blocked = 0; ; ) {
    progress.state = 'sending';
    const outcome = await deliverEvent({ accountId: input.accountId, eventId: input.eventId });
    switch (outcome.state) {
      case 'delivered':
        progress.state = 'delivered';
        setCurrentDetails('Delivered');
        return { ...progress };
      case 'closed':
        progress.state = 'closed';
        setCurrentDetails('Closed: delivered, deleted, or handed over to the workflow of its destination');
        return { ...progress };
      case 'dead':
        progress.state = 'dead';
        setCurrentDetails(`Dead-lettered: ${outcome.note}`);
        return { ...progress };
      case 'blocked':
        await waitOr(
          backOff(blocked++, BLOCKED_FIRST_MS, BLOCKED_MAX_MS),
          'an earlier event of the patient must be delivered first',
        );
        break;
      case 'failed': {
        progress.attemptsMade = outcome.attemptsMade;
        const waitMs = deliveryDelayMs(outcome.attemptsMade, Math.random(), outcome.retryAfterMs) ?? 0;
        await waitOr(waitMs, outcome.note);
      }
    }
  }
}
