import { setCurrentDetails } from '@temporalio/workflow';
import type {
  DischargeFollowUpInput,
  DischargeFollowUpProgress,
  FollowUpStep,
} from '../../../contract/discharge-follow-up-workflow.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** When the source is asked again, counted from when the discharge became known. */
export const ROUNDS_MS: readonly number[] = [
  ...[5 * MINUTE, 30 * MINUTE, 4 * HOUR],
  ...[1 * DAY, 2 * DAY, 4 * DAY],
];
/** After the last round: longer than a source of kind hie has for an answer with all its attempts. */
const LAST_QUERY_MS = 7 * DAY;

/** Between two looks at a running query: 1, 2, 4 … minutes, at most 2 hours. */
export const watchDelayMs = (looks: number): number => Math.min(MINUTE * 2 ** looks, 2 * HOUR);

/** Where one follow-up stands; shown on the workflow's page. */
export class FollowUpState {
  readonly #notificationId: string;
  readonly #startedAtMs: number;
  #progress: Omit<DischargeFollowUpProgress, 'notificationId' | 'rounds'> = { state: 'waiting', round: 0 };
  #woken = false;
  #whyCancelled: string | undefined;

  constructor({ notificationId, startedAt }: DischargeFollowUpInput) {
    this.#notificationId = notificationId;
    this.#startedAtMs = Date.parse(startedAt);
  }

  /** @param round from 0; the one after the last is when the last query is given up */
  roundAtMs(round: number): number {
    const last = ROUNDS_MS.at(-1) ?? 0;
    return this.#startedAtMs + (ROUNDS_MS[round] ?? last + LAST_QUERY_MS);
  }

  get hasEnded(): boolean {
    return this.#progress.state !== 'waiting' && this.#progress.state !== 'watching';
  }

  get whyCancelled(): string | undefined {
    return this.#whyCancelled;
  }

  get isDisturbed(): boolean {
    return this.#woken || this.#whyCancelled !== undefined;
  }

  cancel(why: string): void {
    this.#whyCancelled ??= why;
  }

  wake(): void {
    this.#woken = true;
  }

  takeWake(): boolean {
    const woken = this.#woken;
    this.#woken = false;
    return woken;
  }

  expect(round: number): void {
    this.#change({ state: 'waiting', nextRoundAt: new Date(this.roundAtMs(round)).toISOString() });
  }

  made(round: number, step: FollowUpStep): void {
    this.#change({ round: round + 1, nextRoundAt: undefined });
    this.take(step);
  }

  take({ state, reason, isQueryRunning }: FollowUpStep): void {
    if (state === 'open') this.#change({ state: isQueryRunning ? 'watching' : 'waiting' });
    else this.#change({ state, reason, nextRoundAt: undefined });
  }

  snapshot(): DischargeFollowUpProgress {
    return { notificationId: this.#notificationId, rounds: ROUNDS_MS.length, ...this.#progress };
  }

  #change(change: Partial<DischargeFollowUpProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    const { state, round, nextRoundAt, reason } = this.#progress;
    const facts = [`- **${state}**, ${round} of ${ROUNDS_MS.length} rounds made`];
    if (nextRoundAt !== undefined) facts.push(`- the hie source is asked next at ${nextRoundAt}`);
    if (reason !== undefined) facts.push(`- ${reason}`);
    setCurrentDetails(facts.join('\n'));
  }
}
