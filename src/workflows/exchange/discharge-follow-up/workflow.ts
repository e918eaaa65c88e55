import {
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
import { rejected } from '../../shared/rejected.ts';
import { checkDelayMs, FollowUpState } from './state.ts';

const activities = (summary: string) =>
  proxyActivities<FollowUpActivities>({
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '5 minutes' },
    summary,
  });

/**
 * Queries the hie source again after a discharge, because a hospital's documents arrive hours to days later: six rounds
 * within four days, until a query returns new data.
 *
 * Durable because it spans days. Keyed by the notification of the discharge; PostgreSQL allows one open follow-up per
 * patient. Every step may run twice: it reads the state, and whether its round has been started, from the follow-up's row.
 * A follow-up that is ended in that row therefore also ends here. History: about 150 events when no round finds new data.
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
        if (state.hasEnded) throw rejected('The follow-up has already ended');
      },
    },
  );

  const end = async (ended: 'no-new-data' | 'cancelled', reason: string): Promise<void> =>
    state.update(await activities(reason).endFollowUp({ accountId, notificationId, state: ended, reason }));

  /**
   * Waits until `atMs`, handling signals and cancellation in the meantime. Returns false when the follow-up has ended.
   */
  async function waitUntil(atMs: number, summary: string): Promise<boolean> {
    for (;;) {
      if (state.cancelReason !== undefined) await end('cancelled', state.cancelReason);
      else if (state.takeWake())
        state.update(
          await activities('Signal received: check the follow-up').lookAfterDischarge({
            accountId,
            notificationId,
          }),
        );
      if (state.hasEnded) return false;
      const waitMs = atMs - Date.now();
      if (waitMs <= 0) return true;
      // The timer decides, not another look at the clock: the wait may be computed differently at a replay.
      if (!(await condition(() => state.isInterrupted, waitMs, { summary }))) return true;
    }
  }

  /** Checks the running query of this follow-up, less and less often, until it ends or the next round is due. */
  async function watch(step: FollowUpStep, untilMs: number): Promise<void> {
    for (let checks = 0, now = step; now.state === 'open' && now.isQueryRunning; checks++) {
      const nextMs = Math.min(Date.now() + checkDelayMs(checks), untilMs);
      if (!(await waitUntil(nextMs, 'wait for the query to end')) || Date.now() >= untilMs) return;
      now = await activities('Check whether the query found new data').lookAfterDischarge({
        accountId,
        notificationId,
      });
      state.update(now);
    }
  }

  async function run(): Promise<void> {
    for (let round = 0; round < state.rounds; round++) {
      state.waitFor(round);
      if (!(await waitUntil(state.roundAtMs(round), `wait for round ${round + 1} of ${state.rounds}`)))
        return;
      const step = await activities(`Round ${round + 1}: query the hie source`).askAfterDischarge({
        accountId,
        notificationId,
        round: round + 1,
      });
      state.roundStarted(round, step);
      await watch(step, state.roundAtMs(round + 1));
      if (state.hasEnded) return;
    }
    await end('no-new-data', 'The last query found nothing new');
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
