import type { ReconcileActivities } from '../../../src/activities/exchange/reconcile.ts';
import type { WebhookActivities } from '../../../src/activities/exchange/webhook-delivery.ts';
import { WORKFLOW_TYPES, webhookDeliveryWorkflowId } from '../../../src/contract/temporal.ts';
import {
  WEBHOOK_DELIVERY_MESSAGES,
  type WebhookDeliveryInput,
} from '../../../src/contract/webhook-delivery-workflow.ts';
import type { DeliveryOutcome } from '../../../src/exchange/platform/outbox/delivery.ts';
import { ACCOUNT_ID, inTurn, type Scenario } from './scenario.ts';

const EVENT_ID = '01900000-0000-7000-8000-0000000000e1';
const input: WebhookDeliveryInput = { accountId: ACCOUNT_ID, eventId: EVENT_ID, attemptsMade: 1 };

const delivery = (...outcomes: DeliveryOutcome[]): Scenario => ({
  workflowType: WORKFLOW_TYPES.webhookDelivery,
  workflowId: webhookDeliveryWorkflowId(EVENT_ID),
  args: [input],
  activities: {
    exchange: { deliverEvent: inTurn(...outcomes) } satisfies Partial<WebhookActivities>,
  },
  /** Nobody waits five seconds and more for the next attempt. */
  async meanwhile(handle) {
    for (const _ of outcomes) {
      await handle.signal(WEBHOOK_DELIVERY_MESSAGES.deliverNow).catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  },
});

export const webhookAndReconcileScenarios: Record<string, Scenario> = {
  'webhook-delivery/failed-blocked-delivered-v1': delivery(
    { state: 'failed', attemptsMade: 2, note: '503', retryAfterMs: 10_000 },
    { state: 'blocked', attemptsMade: 2 },
    { state: 'delivered' },
  ),
  'webhook-delivery/dead-lettered-v1': delivery({ state: 'dead', note: '410' }),
  'reconcile/one-round-v1': {
    workflowType: WORKFLOW_TYPES.reconcile,
    workflowId: 'reconcile-2026-11-21T00:00:00Z',
    args: [],
    activities: {
      exchange: {
        reconcileLeftOvers: async () => ({
          runsEnsured: 1,
          attemptsEnded: 0,
          eventsHandedOver: 2,
          keysForgotten: 0,
          others: {},
        }),
      } satisfies Partial<ReconcileActivities>,
    },
  },
};
