import {
  condition,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { WebhookActivities } from '../../../activities/exchange/webhook-delivery.ts';
import {
  WEBHOOK_DELIVERY_MESSAGES as MESSAGES,
  type WebhookDeliveryInput,
  type WebhookDeliveryProgress,
} from '../../../contract/webhook-delivery-workflow.ts';
import { deliveryDelayMs } from '../../../exchange/platform/outbox/rules/delivery-schedule.ts';

const { deliverEvent } = proxyActivities<WebhookActivities>({
  startToCloseTimeout: '45 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
  summary: 'Send the webhook',
});

const BLOCKED_FIRST_MS = 5_000;
const BLOCKED_MAX_MS = 60 * 60_000;

/**
 * Brings out one webhook whose first attempt failed.
 *
 * Durable because the schedule of attempts spans more than three days. Keyed by the event's id; the attempts are
 * counted in PostgreSQL, so an attempt that ran twice is told as two. An event that must wait for an earlier one of
 * the same patient asks again, ever less often, and is woken when its turn has come. About 100 history events.
 */
export async function webhookDelivery(input: WebhookDeliveryInput): Promise<WebhookDeliveryProgress> {
  const progress: WebhookDeliveryProgress = {
    eventId: input.eventId,
    state: 'waiting',
    attemptsMade: input.attemptsMade,
  };
  let wanted = false;
  setHandler(defineQuery<WebhookDeliveryProgress>(MESSAGES.status), () => ({ ...progress }));
  setHandler(defineSignal(MESSAGES.deliverNow), () => {
    wanted = true;
  });

  async function waitOr(waitMs: number, why: string): Promise<void> {
    progress.state = 'waiting';
    setCurrentDetails(
      `Attempt ${progress.attemptsMade + 1} at ${new Date(Date.now() + waitMs).toISOString()}: ${why}`,
    );
    if (waitMs > 0) await condition(() => wanted, waitMs, { summary: why });
    wanted = false;
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
        setCurrentDetails('Nothing left to do: delivered by somebody else, or its destination is gone');
        return { ...progress };
      case 'dead':
        progress.state = 'dead';
        setCurrentDetails(`Dead-lettered: ${outcome.note}`);
        return { ...progress };
      case 'blocked':
        await waitOr(
          Math.min(BLOCKED_FIRST_MS * 2 ** blocked++, BLOCKED_MAX_MS),
          'an earlier event goes first',
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
