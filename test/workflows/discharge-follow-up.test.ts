import type { WorkflowHandleWithFirstExecutionRunId } from '@temporalio/client';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FollowUpActivities } from '../../src/activities/exchange/discharge-follow-up.ts';
import {
  type DischargeFollowUpInput,
  type DischargeFollowUpProgress,
  FOLLOW_UP_PLAN,
  type FollowUpStep,
  DISCHARGE_FOLLOW_UP_MESSAGES as MESSAGES,
} from '../../src/contract/discharge-follow-up-workflow.ts';
import {
  dischargeFollowUpWorkflowId,
  TASK_QUEUES,
  WORKFLOW_TYPES,
} from '../../src/contract/temporal.ts';
import {
  createTimeSkippingEnvironment,
  eventually,
  type TimeSkipping,
} from './network-query-environment.ts';

type Run = WorkflowHandleWithFirstExecutionRunId<
  (input: DischargeFollowUpInput) => Promise<DischargeFollowUpProgress>
>;

let skipping: TimeSkipping;
beforeAll(async () => {
  skipping = await createTimeSkippingEnvironment();
});
afterAll(() => skipping.close());

const open = (isQueryRunning = false): FollowUpStep => ({
  state: 'open',
  isQueryRunning,
});
const newData: FollowUpStep = {
  state: 'new-data',
  reason: '2 resources were new',
  isQueryRunning: false,
};

/**
 * A follow-up whose steps are answered like this; by default each round's query
 * has ended at once, in vain.
 */
async function withFollowUp<R>(
  answers: Partial<FollowUpActivities>,
  use: (run: Run, calls: string[]) => Promise<R>,
): Promise<R> {
  const calls: string[] = [];
  const activities: FollowUpActivities = {
    askAfterDischarge: async (of) => {
      calls.push(`ask ${of.round}`);
      return answers.askAfterDischarge?.(of) ?? open();
    },
    lookAfterDischarge: async (of) => {
      calls.push('look');
      return answers.lookAfterDischarge?.(of) ?? open();
    },
    endFollowUp: async (of) => {
      calls.push(`end ${of.state}`);
      return (
        answers.endFollowUp?.(of) ?? {
          state: of.state,
          reason: of.reason,
          isQueryRunning: false,
        }
      );
    },
  };
  return skipping.withActivities(activities, async () => {
    const notificationId = uuidv7();
    const startedAt = new Date(await skipping.now()).toISOString();
    const run = (await skipping.client.workflow.start(
      WORKFLOW_TYPES.dischargeFollowUp,
      {
        taskQueue: TASK_QUEUES.exchange,
        workflowId: dischargeFollowUpWorkflowId(notificationId),
        args: [
          {
            accountId: 'account',
            notificationId,
            startedAt,
            plan: FOLLOW_UP_PLAN,
          },
        ],
      },
    )) as Run;
    return use(run, calls);
  });
}

/**
 * Minutes after its start at which a run's activities of this type were
 * scheduled.
 */
async function minutesOf(
  run: Run,
  type: keyof FollowUpActivities,
): Promise<number[]> {
  const events = (await run.fetchHistory()).events ?? [];
  const secondsOf = (event: (typeof events)[number] | undefined) =>
    Number(event?.eventTime?.seconds ?? 0);
  return events
    .filter(
      ({ activityTaskScheduledEventAttributes: scheduled }) =>
        scheduled?.activityType?.name === type,
    )
    .map((event) => Math.round((secondsOf(event) - secondsOf(events[0])) / 60));
}

describe('after a discharge', () => {
  test('the source is asked after 5 min, 30 min, 4 h, 1, 2 and 4 days, then no more', async () => {
    await withFollowUp({}, async (run, calls) => {
      expect(await run.result()).toMatchObject({
        state: 'no-new-data',
        round: 6,
      });
      expect(await minutesOf(run, 'askAfterDischarge')).toEqual([
        5, 30, 240, 1_440, 2_880, 5_760,
      ]);
      expect(calls).toEqual([
        ...[1, 2, 3, 4, 5, 6].map((round) => `ask ${round}`),
        'end no-new-data',
      ]);
    });
  });

  test('a query that brings something new is the last one', async () => {
    let looks = 0;
    const answers: Partial<FollowUpActivities> = {
      askAfterDischarge: async ({ round }) => open(round === 2),
      lookAfterDischarge: async () => (++looks < 3 ? open(true) : newData),
    };
    await withFollowUp(answers, async (run, calls) => {
      expect(await run.result()).toMatchObject({
        state: 'new-data',
        round: 2,
        reason: '2 resources were new',
      });
      expect(calls).toEqual(['ask 1', 'ask 2', 'look', 'look', 'look']);
    });
  });

  test('a query that does not end is looked at ever less often, and never beside a second one', async () => {
    const answers: Partial<FollowUpActivities> = {
      askAfterDischarge: async ({ round }) => open(round === 3),
    };
    answers.lookAfterDischarge = async () => open(true);
    await withFollowUp(answers, async (run, calls) => {
      await run.result();
      expect(await minutesOf(run, 'askAfterDischarge')).toEqual([
        5, 30, 240, 1_440, 2_880, 5_760,
      ]);
      const looks = calls.filter((call) => call === 'look').length;
      expect(looks).toBeGreaterThan(7);
      expect(looks).toBeLessThan(20);
    });
  });

  test('a follow-up that PostgreSQL has ended ends, at its next round or when it is woken', async () => {
    const gone: FollowUpStep = {
      state: 'cancelled',
      reason: 'The discharge was taken back',
      isQueryRunning: false,
    };
    await withFollowUp(
      { askAfterDischarge: async () => gone },
      async (run, calls) => {
        expect(await run.result()).toMatchObject({
          state: 'cancelled',
          reason: gone.reason,
        });
        expect(calls).toEqual(['ask 1']);
      },
    );
    await withFollowUp(
      { lookAfterDischarge: async () => gone },
      async (run, calls) => {
        await run.signal(MESSAGES.look);
        expect(await run.result()).toMatchObject({ state: 'cancelled' });
        expect(calls).toEqual(['look']);
      },
    );
  });

  test('it tells where it stands, and is cancelled by hand, once', async () => {
    await withFollowUp({}, async (run, calls) => {
      await eventually(
        async () =>
          (await run.query<DischargeFollowUpProgress>(MESSAGES.status))
            .nextRoundAt !== undefined,
      );
      expect(await run.query(MESSAGES.status)).toMatchObject({
        state: 'waiting',
        round: 0,
        rounds: 6,
      });
      await run.executeUpdate<void, []>(MESSAGES.cancel);
      expect(await run.result()).toMatchObject({
        state: 'cancelled',
        reason: 'Cancelled on request',
      });
      expect(calls).toEqual(['end cancelled']);
      await expect(
        run.executeUpdate<void, []>(MESSAGES.cancel),
      ).rejects.toThrow();
    });
  });

  test('cancelled by an operator it writes so before it goes', async () => {
    await withFollowUp({}, async (run, calls) => {
      await run.query(MESSAGES.status);
      await run.cancel();
      await expect(run.result()).rejects.toThrow();
      expect(calls).toEqual(['end cancelled']);
    });
  });
});
