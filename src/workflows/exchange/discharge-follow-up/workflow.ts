import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  proxyActivities,
  setHandler,
} from '@temporalio/workflow';
import type { FollowUpActivities } from '../../../activities/exchange/discharge-follow-up.ts';
import {
  type DischargeFollowUpInput,
  type DischargeFollowUpProgress,
  type FollowUpStep,
  DISCHARGE_FOLLOW_UP_MESSAGES as MESSAGES,
} from '../../../contract/discharge-follow-up-workflow.ts';
import { FollowUpState, ROUNDS_MS, watchDelayMs } from './state.ts';

const activities = (summary: string) =>
  proxyActivities<FollowUpActivities>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '5 minutes' },
    summary,
  });

/**
 * Asks the hie source again after a discharge, for a hospital's documents come hours to days later: six rounds within
 * four days, until a query has brought something new.
 *
 * Durable because it spans days. Keyed by the discharge's notification, one open for each patient (PostgreSQL sees to
 * that). Every step may run twice: where the follow-up stands, and whether a round has been made, is read from its row,
 * so a follow-up that is ended there ends here. About 150 history events when all rounds are made in vain.
 */
export async function dischargeFollowUp(input: DischargeFollowUpInput): Promise<DischargeFollowUpProgress> {
  const { accountId, notificationId } = input;
  const state = new FollowUpState(input);
  setHandler(defineQuery<DischargeFollowUpProgress>(MESSAGES.status), () => state.snapshot());
  setHandler(defineSignal(MESSAGES.look), () => state.wake());
  setHandler(
    defineUpdate<void, []>(MESSAGES.cancel),
    async () => {
      state.cancel('Cancelled on request');
      await condition(() => state.hasEnded);
    },
    {
      validator: () => {
        if (state.hasEnded) throw ApplicationFailure.nonRetryable('The follow-up has ended', 'Rejected');
      },
    },
  );

  const end = async (ended: 'no-new-data' | 'cancelled', reason: string): Promise<void> =>
    state.take(await activities(reason).endFollowUp({ accountId, notificationId, state: ended, reason }));

  /** Until then; or at once when somebody woke or cancelled it. False when the follow-up has ended meanwhile. */
  async function waitUntil(atMs: number, summary: string): Promise<boolean> {
    for (;;) {
      if (state.whyCancelled !== undefined) await end('cancelled', state.whyCancelled);
      else if (state.takeWake())
        state.take(await activities('Woken: look').lookAfterDischarge({ accountId, notificationId }));
      if (state.hasEnded) return false;
      const waitMs = atMs - Date.now();
      if (waitMs <= 0) return true;
      await condition(() => state.isDisturbed, waitMs, { summary });
    }
  }

  /** While a query of this follow-up runs: looks ever less often, but not beyond the next round. */
  async function watch(step: FollowUpStep, untilMs: number): Promise<void> {
    for (let looks = 0, now = step; now.state === 'open' && now.isQueryRunning; looks++) {
      const nextMs = Math.min(Date.now() + watchDelayMs(looks), untilMs);
      if (!(await waitUntil(nextMs, 'wait for the query to end')) || Date.now() >= untilMs) return;
      now = await activities('Has the query brought new data?').lookAfterDischarge({
        accountId,
        notificationId,
      });
      state.take(now);
    }
  }

  async function run(): Promise<void> {
    for (const round of ROUNDS_MS.keys()) {
      state.expect(round);
      if (!(await waitUntil(state.roundAtMs(round), `wait for round ${round + 1} of ${ROUNDS_MS.length}`)))
        return;
      const asked = { accountId, notificationId, round: round + 1 };
      const step = await activities(`Round ${round + 1}: ask the hie source`).askAfterDischarge(asked);
      state.made(round, step);
      await watch(step, state.roundAtMs(round + 1));
      if (state.hasEnded) return;
    }
    await end('no-new-data', 'The last query has brought nothing new');
  }

  try {
    await run();
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() => end('cancelled', 'Cancelled by an operator'));
    throw error;
  }
  await condition(allHandlersFinished);
  return state.snapshot();
}
