import { setTimeout as sleep } from 'node:timers/promises';
import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { MessageActivities } from '../../../src/activities/exchange/messages.ts';
import {
  MESSAGE_TRANSMISSION_MESSAGES as MESSAGES,
  type MessageTransmissionInput,
  RECEIPT_WITHIN_MS,
  type TransmissionStep,
} from '../../../src/contract/messages-workflow.ts';
import {
  messageTransmissionWorkflowId,
  WORKFLOW_TYPES,
} from '../../../src/contract/temporal.ts';
import { ACCOUNT_ID, inTurn, REQUEST_ID, type Scenario } from './scenario.ts';

const run = (activities: Partial<MessageActivities>): Scenario => ({
  workflowType: WORKFLOW_TYPES.messageTransmission,
  workflowId: messageTransmissionWorkflowId(REQUEST_ID),
  args: [
    {
      accountId: ACCOUNT_ID,
      messageId: REQUEST_ID,
      receiptWithinMs: RECEIPT_WITHIN_MS,
    } satisfies MessageTransmissionInput,
  ],
  activities: {
    partners: {
      transmitMessage: inTurn<TransmissionStep>({ state: 'completed' }),
      checkTransmission: inTurn<TransmissionStep>({ state: 'completed' }),
      ...activities,
    } satisfies Partial<MessageActivities>,
    exchange: {
      failTransmission: async ({ reason }) => ({ state: 'failed', reason }),
    } satisfies Partial<MessageActivities>,
  },
});

async function untilCancelled(): Promise<never> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), 100);
  return context.cancelled.finally(() => clearInterval(timer));
}

export const messageTransmissionScenarios: Record<string, Scenario> = {
  'message-transmission/delivered-at-once-v1': run({}),
  'message-transmission/receipts-v1': {
    ...run({
      transmitMessage: inTurn<TransmissionStep>({ state: 'waiting' }),
      checkTransmission: inTurn<TransmissionStep>(
        { state: 'waiting' },
        { state: 'completed' },
      ),
    }),
    async meanwhile(handle) {
      await sleep(500);
      await handle.signal(MESSAGES.receipt);
      await sleep(500);
      await handle.signal(MESSAGES.receipt);
    },
  },
  'message-transmission/not-handed-over-v1': run({
    transmitMessage: inTurn<TransmissionStep>(
      ApplicationFailure.nonRetryable('nobody there'),
    ),
  }),
  'message-transmission/cancelled-v1': {
    ...run({ transmitMessage: untilCancelled }),
    async meanwhile(handle) {
      await sleep(500);
      await handle.cancel();
    },
  },
};
