import { ApplicationFailure } from '@temporalio/common';
import type { ReconcileActivities } from '../../../src/activities/exchange/reconcile.ts';
import type {
  DeliveredDue,
  WebhookActivities,
} from '../../../src/activities/exchange/webhook-delivery.ts';
import {
  RECONCILE_LOOP_MESSAGES,
  type Reconciled,
  type ReconcileLoopInput,
} from '../../../src/contract/reconcile-workflow.ts';
import {
  RECONCILE_WORKFLOW_ID,
  WORKFLOW_TYPES,
  webhookDestinationWorkflowId,
} from '../../../src/contract/temporal.ts';
import {
  WEBHOOK_DESTINATION_MESSAGES,
  type WebhookDestinationInput,
} from '../../../src/contract/webhook-destination-workflow.ts';
import { ACCOUNT_ID, inTurn, type Scenario } from './scenario.ts';

const NOTHING_TO_DO: Reconciled = {
  rounds: 1,
  kinds: {},
  cursors: {},
  isBehind: false,
};
const delay = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const DESTINATION_ID = '01900000-0000-7000-8000-0000000000d1';
const destination: WebhookDestinationInput = {
  accountId: ACCOUNT_ID,
  destinationId: DESTINATION_ID,
};
const waiting = (held: boolean): DeliveredDue => ({
  look: { state: 'waiting', untilMs: Date.now() + 60_000, held },
  sent: 0,
  note: '503',
});

export const webhookAndReconcileScenarios: Record<string, Scenario> = {
  'webhook-destination/held-due-waiting-empty-v1': {
    workflowType: WORKFLOW_TYPES.webhookDestination,
    workflowId: webhookDestinationWorkflowId(ACCOUNT_ID, DESTINATION_ID),
    args: [destination],
    activities: {
      webhooks: {
        deliverDue: inTurn<DeliveredDue>(
          waiting(true),
          { look: { state: 'due' }, sent: 400 },
          waiting(false),
          { look: { state: 'empty' }, sent: 2 },
        ),
      } satisfies WebhookActivities,
    },
    /** The waits of a minute are cut short. */
    async meanwhile(handle) {
      for (const signal of ['look', 'deliverNow'] as const) {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        await handle.signal(WEBHOOK_DESTINATION_MESSAGES[signal]);
      }
    },
  },
  'reconcile-loop/rounds-pause-behind-cancelled-v1': {
    workflowType: WORKFLOW_TYPES.reconcileLoop,
    workflowId: RECONCILE_WORKFLOW_ID,
    args: [{ intervalMs: 60_000 } satisfies ReconcileLoopInput],
    taskQueue: 'exchange',
    activities: {
      'background-exchange': {
        reconcileLeftOvers: inTurn<Reconciled>(
          {
            rounds: 1,
            kinds: {
              'network queries': {
                found: 500,
                healed: 499,
                failed: 1,
                oldestSeconds: 900,
              },
            },
            cursors: { 'query sweeps': '2026-11-21T00:00:00.000Z' },
            isBehind: true,
          },
          ApplicationFailure.nonRetryable('the worker was killed'),
          NOTHING_TO_DO,
        ),
      } satisfies Partial<ReconcileActivities>,
      exchange: {
        setReconcilePaused: async () => undefined,
      } satisfies Partial<ReconcileActivities>,
    },
    async meanwhile(handle) {
      const { roundDue, pause, resume } = RECONCILE_LOOP_MESSAGES;
      await delay(2_500);
      await handle.signal(roundDue, 30_000);
      await handle.signal(pause);
      await delay(500);
      await handle.signal(resume);
      await delay(500);
      await handle.cancel();
    },
  },
  /** No background worker takes a round, so the loop's own queue makes it. */
  'reconcile-loop/no-background-worker-v1': {
    workflowType: WORKFLOW_TYPES.reconcileLoop,
    workflowId: RECONCILE_WORKFLOW_ID,
    args: [{ intervalMs: 1_000 } satisfies ReconcileLoopInput],
    activities: {
      exchange: {
        reconcileLeftOvers: async () => NOTHING_TO_DO,
      } satisfies Partial<ReconcileActivities>,
    },
    async meanwhile(handle) {
      await delay(4_500);
      await handle.cancel();
    },
  },
};
