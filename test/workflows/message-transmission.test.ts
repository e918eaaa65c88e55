import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MessageActivities } from '../../src/activities/exchange/messages.ts';
import {
  MESSAGE_TRANSMISSION_MESSAGES as MESSAGES,
  type MessageTransmissionInput,
  type MessageTransmissionProgress,
  MESSAGE_END_REASONS as REASONS,
  RECEIPT_WITHIN_MS,
} from '../../src/contract/messages-workflow.ts';
import {
  messageTransmissionWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  createTimeSkippingEnvironment,
  eventually,
  type TimeSkipping,
} from './network-query-environment.ts';

type Run = WorkflowHandleWithFirstExecutionRunId<
  (input: MessageTransmissionInput) => Promise<MessageTransmissionProgress>
>;

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

/**
 * A transmission whose steps answer so; by default the message is taken, and
 * never confirmed.
 */
async function withTransmission(
  answers: Partial<MessageActivities>,
  use: (run: Run, calls: string[]) => Promise<void>,
): Promise<void> {
  const calls: string[] = [];
  const activities: MessageActivities = {
    transmitMessage: async (of) => {
      calls.push('transmit');
      return answers.transmitMessage?.(of) ?? { state: 'waiting' };
    },
    checkTransmission: async (of) => {
      calls.push('check');
      return answers.checkTransmission?.(of) ?? { state: 'waiting' };
    },
    failTransmission: async ({ reason }) => {
      calls.push('fail');
      return { state: 'failed', reason };
    },
  };
  await skipping.withActivities(activities, async () => {
    const messageId = uuidv7();
    const run = (await skipping.client.workflow.start(
      WORKFLOW_TYPES.messageTransmission,
      {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: messageTransmissionWorkflowId(messageId),
        args: [
          {
            accountId: 'account',
            messageId,
            receiptWithinMs: RECEIPT_WITHIN_MS,
          },
        ],
      },
    )) as Run;
    await use(run, calls);
  });
}

describe('a message on its way', () => {
  test('that is not confirmed is asked about ever less often, and given up after three days', async () => {
    await withTransmission({}, async (run, calls) => {
      expect(await run.result()).toMatchObject({
        state: 'failed',
        reason: REASONS.noReceipt,
      });
      const checks = calls.filter((call) => call === 'check').length;
      expect(checks).toBeGreaterThan(60);
      expect(checks).toBeLessThan(90);
      expect(calls.at(-1)).toBe('fail');
    });
  });

  test('a receipt lets it ask at once; a partner that does not answer then is asked later', async () => {
    let checks = 0;
    const checkTransmission: MessageActivities['checkTransmission'] =
      async () => {
        if (++checks === 1) throw ApplicationFailure.nonRetryable('away');
        return { state: 'completed' };
      };
    await withTransmission({ checkTransmission }, async (run, calls) => {
      await eventually(
        async () =>
          (await run.query<MessageTransmissionProgress>(MESSAGES.status))
            .state === 'waiting',
      );
      await run.signal(MESSAGES.receipt);
      await eventually(async () => calls.includes('check'));
      expect(await run.result()).toMatchObject({ state: 'completed' });
      expect(calls).toEqual(['transmit', 'check', 'check']);
    });
  });

  test('whose receipt lies ready while we are away at its deadline is delivered when we are back', async () => {
    let backAt = Number.POSITIVE_INFINITY;
    const checkTransmission: MessageActivities['checkTransmission'] =
      async () => {
        const now = await skipping.now();
        if (backAt === Number.POSITIVE_INFINITY)
          backAt = now + RECEIPT_WITHIN_MS + 6 * 3_600_000;
        if (now < backAt) throw new Error('our database is away');
        return { state: 'completed' };
      };
    await withTransmission({ checkTransmission }, async (run, calls) => {
      expect(await run.result()).toMatchObject({ state: 'completed' });
      expect(calls).not.toContain('fail');
    });
  });

  test('is given up a day after its deadline while we are away all the time', async () => {
    const checkTransmission: MessageActivities['checkTransmission'] =
      async () => {
        throw new Error('our database is away');
      };
    await withTransmission({ checkTransmission }, async (run, calls) => {
      expect(await run.result()).toMatchObject({
        state: 'failed',
        reason: REASONS.noReceipt,
      });
      expect(calls.at(-1)).toBe('fail');
    });
  });

  test('that the partner does not take for a day has failed', async () => {
    const transmitMessage: MessageActivities['transmitMessage'] = async () => {
      throw new Error('away');
    };
    await withTransmission({ transmitMessage }, async (run, calls) => {
      expect(await run.result()).toMatchObject({
        state: 'failed',
        reason: REASONS.notHandedOver,
      });
      expect(
        calls.filter((call) => call === 'transmit').length,
      ).toBeGreaterThan(40);
    });
  });

  test('cancelled by an operator it writes so before it goes', async () => {
    await withTransmission({}, async (run, calls) => {
      await eventually(
        async () =>
          (await run.query<MessageTransmissionProgress>(MESSAGES.status))
            .state === 'waiting',
      );
      await run.cancel();
      await expect(run.result()).rejects.toThrow();
      expect(calls).toEqual(['transmit', 'fail']);
    });
  });
});
