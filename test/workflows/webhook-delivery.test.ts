import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TASK_QUEUES, WORKFLOW_TYPES, webhookDeliveryWorkflowId } from '../../src/contract/temporal.ts';
import {
  WEBHOOK_DELIVERY_MESSAGES as MESSAGES,
  type WebhookDeliveryInput,
  type WebhookDeliveryProgress,
} from '../../src/contract/webhook-delivery-workflow.ts';
import type { DeliveryOutcome } from '../../src/exchange/platform/outbox/delivery.ts';
import { createTimeSkippingEnvironment, eventually, type TimeSkipping } from './network-query-environment.ts';

type Run = WorkflowHandleWithFirstExecutionRunId<
  (input: WebhookDeliveryInput) => Promise<WebhookDeliveryProgress>
>;

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

/** A delivery whose attempts end like this, one after the other; the last one is repeated. */
async function withDelivery<R>(
  input: Partial<WebhookDeliveryInput>,
  outcomes: (DeliveryOutcome | Error)[],
  use: (run: Run, attempts: () => number) => Promise<R>,
): Promise<R> {
  let attempts = 0;
  const deliverEvent = async (): Promise<DeliveryOutcome> => {
    const outcome = outcomes[Math.min(attempts++, outcomes.length - 1)];
    if (outcome instanceof Error) throw outcome;
    return outcome ?? { state: 'closed' };
  };
  return skipping.withActivities({ deliverEvent }, async () => {
    const eventId = uuidv7();
    const run = (await skipping.client.workflow.start(WORKFLOW_TYPES.webhookDelivery, {
      taskQueue: TASK_QUEUES.exchange,
      workflowId: webhookDeliveryWorkflowId(eventId),
      args: [{ accountId: 'account', eventId, attemptsMade: 1, ...input }],
    })) as Run;
    return use(run, () => attempts);
  });
}
const failed = (attemptsMade: number, retryAfterMs?: number): DeliveryOutcome => ({
  state: 'failed',
  attemptsMade,
  note: '503',
  retryAfterMs,
});

/** Seconds of the timers that a run has set. */
async function waitsOf(run: Run): Promise<number[]> {
  const { events } = await run.fetchHistory();
  return (events ?? []).flatMap(({ timerStartedEventAttributes: timer }) =>
    timer?.startToFireTimeout == null ? [] : [Number(timer.startToFireTimeout.seconds ?? 0)],
  );
}

describe('a webhook that could not be delivered at once', () => {
  test('is tried for more than three days by the published schedule, then dead-lettered', async () => {
    const outcomes = [...Array.from({ length: 8 }, (_, index) => failed(index + 2)), dead()];
    await withDelivery({ attemptsMade: 1 }, outcomes, async (run, attempts) => {
      expect(await run.result()).toMatchObject({ state: 'dead' });
      expect(attempts()).toBe(9);
      const schedule = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
      const waits = await waitsOf(run);
      expect(waits).toHaveLength(schedule.length);
      for (const [index, wait] of waits.entries()) {
        const plain = schedule[index] ?? Number.NaN;
        expect(wait).toBeGreaterThanOrEqual(plain);
        expect(wait).toBeLessThanOrEqual(plain * 1.1);
      }
    });
  });

  test('ends when it is delivered in the middle of its schedule', async () => {
    await withDelivery({}, [failed(2), failed(3), { state: 'delivered' }], async (run, attempts) => {
      expect(await run.result()).toMatchObject({ state: 'delivered', attemptsMade: 3 });
      expect(attempts()).toBe(3);
    });
  });

  test('ends at once when the receiver is gone, or nothing is left to do', async () => {
    await withDelivery({}, [dead('410')], async (run, attempts) => {
      expect(await run.result()).toMatchObject({ state: 'dead' });
      expect(attempts()).toBe(1);
    });
    await withDelivery({}, [{ state: 'closed' }], async (run) => {
      expect(await run.result()).toMatchObject({ state: 'closed' });
    });
  });

  test('waits as long as the receiver asked for, at the webhookDispatcher’s attempt and at its own', async () => {
    const outcomes = [failed(2, 7_200_000), { state: 'delivered' } as const];
    await withDelivery({ retryAfterMs: 600_000 }, outcomes, async (run) => {
      await run.result();
      expect(await waitsOf(run)).toEqual([600, 7_200]);
    });
  });

  test('begins at once when nobody has tried before', async () => {
    await withDelivery({ attemptsMade: 0 }, [{ state: 'delivered' }], async (run) => {
      await run.result();
      expect(await waitsOf(run)).toEqual([]);
    });
  });

  test('that waits for an earlier one asks ever less often', async () => {
    const blocked: DeliveryOutcome = { state: 'blocked', attemptsMade: 0 };
    const outcomes = [...Array.from({ length: 12 }, () => blocked), { state: 'delivered' } as const];
    await withDelivery({ attemptsMade: 0 }, outcomes, async (run) => {
      expect(await run.result()).toMatchObject({ state: 'delivered' });
      expect(await waitsOf(run)).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 3_600, 3_600]);
    });
  });

  test('goes out without waiting on when its turn has come', async () => {
    const outcomes: DeliveryOutcome[] = [
      { state: 'blocked', attemptsMade: 0 },
      failed(1),
      { state: 'delivered' },
    ];
    await withDelivery({ attemptsMade: 0 }, outcomes, async (run, attempts) => {
      await eventually(() => attempts() === 1);
      await run.signal(MESSAGES.deliverNow);
      // No time is skipped here: only the signal can have brought this about.
      await eventually(() => attempts() === 2);
      await eventually(async () => (await statusOf(run)).state === 'waiting');
      expect(await statusOf(run)).toMatchObject({ state: 'waiting', attemptsMade: 1 });
      await run.signal(MESSAGES.deliverNow);
      await eventually(() => attempts() === 3);
      expect(await run.result()).toMatchObject({ state: 'delivered' });
    });
  });

  test('is not lost while our own database is away', async () => {
    const outcomes = [new Error('connection refused'), new Error('connection refused'), failed(2), dead()];
    await withDelivery({}, outcomes, async (run, attempts) => {
      expect(await run.result()).toMatchObject({ state: 'dead' });
      expect(attempts()).toBe(4);
    });
  });
});

function dead(note = '503'): DeliveryOutcome {
  return { state: 'dead', note };
}

const statusOf = (run: Run): Promise<WebhookDeliveryProgress> =>
  run.query<WebhookDeliveryProgress>(MESSAGES.status);
