import { setCurrentDetails } from '@temporalio/workflow';
import type {
  DischargeFollowUpInput,
  DischargeFollowUpProgress,
  FollowUpPlan,
  FollowUpStep,
} from '../../../contract/discharge-follow-up-workflow.ts';
import { backOff } from '../../shared/pacing.ts';
import { UNSTATED } from '../../shared/unstated.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The wait before check number `checks` (from 0) of a running query: 1, 2, 4 … minutes, at most 2 hours. */
export const checkDelayMs = (checks: number): number => backOff(checks, MINUTE, 2 * HOUR);

/** The state of one follow-up, shown on the workflow's page in the Temporal UI. */
export class FollowUpState {
  readonly #notificationId: string;
  readonly #startedAtMs: number;
  readonly #plan: FollowUpPlan;
  #progress: Omit<DischargeFollowUpProgress, 'notificationId' | 'rounds'> = { state: 'waiting', round: 0 };
  #woken = false;
  #cancelReason: string | undefined;

  constructor({ notificationId, startedAt, plan = UNSTATED.followUp }: DischargeFollowUpInput) {
    this.#notificationId = notificationId;
    this.#startedAtMs = Date.parse(startedAt);
    this.#plan = plan;
  }

  /** @param round from 0; for the number of rounds, returns when to stop waiting for the last query */
  roundAtMs(round: number): number {
    const { roundsMs, lastQueryMs } = this.#plan;
    return this.#startedAtMs + (roundsMs[round] ?? (roundsMs.at(-1) ?? 0) + lastQueryMs);
  }

  get rounds(): number {
    return this.#plan.roundsMs.length;
  }

  get hasEnded(): boolean {
    return this.#progress.state !== 'waiting' && this.#progress.state !== 'watching';
  }

  get cancelReason(): string | undefined {
    return this.#cancelReason;
  }

  /** Whether a signal or a cancellation must be handled before waiting further. */
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
    this.#change({ state: 'waiting', nextRoundAt: new Date(this.roundAtMs(round)).toISOString() });
  }

  roundStarted(round: number, step: FollowUpStep): void {
    this.#change({ round: round + 1, nextRoundAt: undefined });
    this.update(step);
  }

  update({ state, reason, isQueryRunning }: FollowUpStep): void {
    if (state === 'open') this.#change({ state: isQueryRunning ? 'watching' : 'waiting' });
    else this.#change({ state, reason, nextRoundAt: undefined });
  }

  snapshot(): DischargeFollowUpProgress {
    return { notificationId: this.#notificationId, rounds: this.rounds, ...this.#progress };
  }

  #change(change: Partial<DischargeFollowUpProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    const { state, round, nextRoundAt, reason } = this.#progress;
    const facts = [`- **${state}**, ${round} of ${this.rounds} rounds started`];
    if (nextRoundAt !== undefined) facts.push(`- next query of the hie source: ${nextRoundAt}`);
    if (reason !== undefined) facts.push(`- ${reason}`);
    setCurrentDetails(facts.join('\n'));
  }
}
