import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  isCancellation,
  setCurrentDetails,
  setHandler,
} from '@temporalio/workflow';
import type { FollowUpActivities } from '../../../activities/exchange/discharge-follow-up.ts';
import {
  type DischargeFollowUpInput,
  type DischargeFollowUpProgress,
  type FollowUpPlan,
  type FollowUpStep,
  DISCHARGE_FOLLOW_UP_MESSAGES as MESSAGES,
} from '../../../contract/discharge-follow-up-workflow.ts';
import { rejected, rowActivities } from '../../shared/failures.ts';
import { backOff } from '../../shared/work-in-pages.ts';

const activities = rowActivities<FollowUpActivities>;

/**
 * Queries the hie source again after a discharge, because a hospital's
 * documents arrive hours to days later: six rounds within four days, until a
 * query returns new data.
 *
 * Durable because it spans days. Keyed by the notification of the discharge;
 * PostgreSQL allows one open follow-up per patient. Every step may run twice:
 * it reads the state, and whether its round has been started, from the
 * follow-up's row. A follow-up that is ended in that row therefore also ends
 * here. History: about 150 events when no round finds new data.
 */
export async function dischargeFollowUp(
  input: DischargeFollowUpInput,
): Promise<DischargeFollowUpProgress> {
  const { accountId, notificationId } = input;
  const state = new FollowUpState(input);
  setHandler(defineQuery<DischargeFollowUpProgress>(MESSAGES.status), () =>
    state.snapshot(),
  );
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

  const end = async (
    ended: 'no-new-data' | 'cancelled',
    reason: string,
  ): Promise<void> =>
    state.update(
      await activities(reason).endFollowUp({
        accountId,
        notificationId,
        state: ended,
        reason,
      }),
    );

  /**
   * Waits until `atMs`, handling signals and cancellation in the meantime.
   * Returns false when the follow-up has ended.
   */
  async function waitUntil(atMs: number, summary: string): Promise<boolean> {
    for (;;) {
      if (state.cancelReason !== undefined)
        await end('cancelled', state.cancelReason);
      else if (state.takeWake())
        state.update(
          await activities(
            'Signal received: check the follow-up',
          ).lookAfterDischarge({
            accountId,
            notificationId,
          }),
        );
      if (state.hasEnded) return false;
      const waitMs = atMs - Date.now();
      if (waitMs <= 0) return true;
      // The timer decides, not another look at the clock: the wait may be
      // computed differently at a replay.
      if (!(await condition(() => state.isInterrupted, waitMs, { summary })))
        return true;
    }
  }

  /**
   * Checks the running query of this follow-up, less and less often, until it
   * ends or the next round is due.
   */
  async function watch(step: FollowUpStep, untilMs: number): Promise<void> {
    for (
      let checks = 0, now = step;
      now.state === 'open' && now.isQueryRunning;
      checks++
    ) {
      const nextMs = Math.min(Date.now() + checkDelayMs(checks), untilMs);
      if (
        !(await waitUntil(nextMs, 'wait for the query to end')) ||
        Date.now() >= untilMs
      )
        return;
      now = await activities(
        'Check whether the query found new data',
      ).lookAfterDischarge({
        accountId,
        notificationId,
      });
      state.update(now);
    }
  }

  async function run(): Promise<void> {
    for (let round = 0; round < state.rounds; round++) {
      state.waitFor(round);
      if (
        !(await waitUntil(
          state.roundAtMs(round),
          `wait for round ${round + 1} of ${state.rounds}`,
        ))
      )
        return;
      const step = await activities(
        `Round ${round + 1}: query the hie source`,
      ).askAfterDischarge({
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
    await CancellationScope.nonCancellable(() =>
      end('cancelled', 'Cancelled by an operator'),
    );
    throw error;
  }
  await condition(allHandlersFinished);
  return state.snapshot();
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/**
 * The wait before check number `checks` (from 0) of a running query: 1, 2, 4 …
 * minutes, at most 2 hours.
 */
const checkDelayMs = (checks: number): number =>
  backOff(checks, MINUTE, 2 * HOUR);

/**
 * The state of one follow-up, shown on the workflow's page in the Temporal UI.
 */
class FollowUpState {
  readonly #notificationId: string;
  readonly #startedAtMs: number;
  readonly #plan: FollowUpPlan;
  #progress: Omit<DischargeFollowUpProgress, 'notificationId' | 'rounds'> = {
    state: 'waiting',
    round: 0,
  };
  #woken = false;
  #cancelReason: string | undefined;

  constructor({ notificationId, startedAt, plan }: DischargeFollowUpInput) {
    this.#notificationId = notificationId;
    this.#startedAtMs = Date.parse(startedAt);
    this.#plan = plan;
  }

  /**
   * @param round from 0; for the number of rounds, returns when to stop waiting
   *   for the last query
   */
  roundAtMs(round: number): number {
    const { roundsMs, lastQueryMs } = this.#plan;
    return (
      this.#startedAtMs +
      (roundsMs[round] ?? (roundsMs.at(-1) ?? 0) + lastQueryMs)
    );
  }

  get rounds(): number {
    return this.#plan.roundsMs.length;
  }

  get hasEnded(): boolean {
    return (
      this.#progress.state !== 'waiting' && this.#progress.state !== 'watching'
    );
  }

  get cancelReason(): string | undefined {
    return this.#cancelReason;
  }

  /**
   * Whether a signal or a cancellation must be handled before waiting further.
   */
  get isInterrupted(): boolean {
    return this.#woken || this.#cancelReason !== undefined;
  }

  cancel(reason: string): void {
    this.#cancelReason ??= reason;
  }

  wake(): void {
    this.#woken = true;
  }

  /** Whether `wake` was called since the last call of this function. */
  takeWake(): boolean {
    const woken = this.#woken;
    this.#woken = false;
    return woken;
  }

  waitFor(round: number): void {
    this.#change({
      state: 'waiting',
      nextRoundAt: new Date(this.roundAtMs(round)).toISOString(),
    });
  }

  roundStarted(round: number, step: FollowUpStep): void {
    this.#change({ round: round + 1, nextRoundAt: undefined });
    this.update(step);
  }

  update({ state, reason, isQueryRunning }: FollowUpStep): void {
    if (state === 'open')
      this.#change({ state: isQueryRunning ? 'watching' : 'waiting' });
    else this.#change({ state, reason, nextRoundAt: undefined });
  }

  snapshot(): DischargeFollowUpProgress {
    return {
      notificationId: this.#notificationId,
      rounds: this.rounds,
      ...this.#progress,
    };
  }

  #change(change: Partial<DischargeFollowUpProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    const { state, round, nextRoundAt, reason } = this.#progress;
    const facts = [`- **${state}**, ${round} of ${this.rounds} rounds started`];
    if (nextRoundAt !== undefined)
      facts.push(`- next query of the hie source: ${nextRoundAt}`);
    if (reason !== undefined) facts.push(`- ${reason}`);
    setCurrentDetails(facts.join('\n'));
  }
}
