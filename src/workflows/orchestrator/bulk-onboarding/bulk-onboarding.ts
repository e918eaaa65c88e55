import {
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingTiming,
  type BulkResult,
  type BulkRowCounts,
  DEFAULT_BULK_TIMING,
} from '../../../contract/bulk-onboarding.ts';
import { type BulkState, newBulkState } from './bulk-state.ts';

/** What the exchange answers to "how does it stand"; states and members of another service are open. */
export interface BulkAnswer {
  requestId: string;
  status: string;
  paused?: boolean;
  counts?: Partial<BulkRowCounts>;
  rowsPerSecond?: number;
  secondsLeft?: number;
  reason?: string;
}

/** What is to be done next while the exchange works on the file. */
export type NextStep =
  | { kind: 'wait'; ms: number; for: 'status' | 'deadline' }
  | { kind: 'poll' }
  | { kind: 'give-up' }
  | { kind: 'done' };

/**
 * The orchestration without Temporal: takes what happens, in any order and any number of times, and says what is to
 * be done next. Times are milliseconds of the caller's clock.
 */
export class BulkOnboarding {
  readonly state: BulkState;
  readonly #timing: BulkOnboardingTiming;

  /** `carried` is the state of an earlier run of the same orchestration (continue-as-new). */
  constructor(input: BulkOnboardingInput, nowMs: number, carried?: BulkState) {
    this.#timing = { ...DEFAULT_BULK_TIMING, ...input.timing };
    this.state = carried ?? newBulkState(input.rows, nowMs + this.#timing.deadlineMs);
  }

  /** The request that counts now. */
  get requestId(): string | undefined {
    return this.state.requestIds.at(-1);
  }

  get mayRequestAgain(): boolean {
    return this.state.requestIds.length < this.#timing.requestsMax;
  }

  requested(requestId: string, uploadUrl: string): void {
    this.state.requestIds.push(requestId);
    this.state.uploadUrl = uploadUrl;
    this.state.ending = undefined;
    this.state.phase = 'uploading';
  }

  /** The exchange has the file. */
  uploaded(nowMs: number): void {
    this.state.phase = 'processing';
    this.state.uploadUrl = undefined;
    this.state.pollsSinceUpload = 0;
    this.state.problem = undefined;
    this.#planPoll(nowMs);
  }

  /** The upload URL passed before the exchange had the file. */
  urlPassed(): void {
    this.state.phase = 'requesting';
    this.state.uploadUrl = undefined;
    this.state.problem = 'the upload URL passed unused; asking for another';
  }

  webhook(event: BulkCreateSignal): void {
    if (this.state.seenMessageIds.includes(event.messageId)) return;
    this.state.seenMessageIds.push(event.messageId);
    this.state.webhooksReceived += 1;
    // Of an earlier request whose URL passed, nothing counts any more.
    if (event.requestId !== this.requestId || event.status === 'processing') return;
    const { status, result: link, reason } = event;
    // A webhook knows the link that a poll, which came first, need not have.
    this.state.ending = { via: this.state.ending?.via ?? 'webhook', status, link, reason };
  }

  polled(answer: BulkAnswer, nowMs: number): void {
    const { counts, rowsPerSecond, secondsLeft, status, reason } = answer;
    // Before the exchange has looked through the file it counts 0 rows; our own count is better.
    const rows = counts?.rows || this.state.counts.rows;
    this.state.counts = { ...this.state.counts, ...counts, rows };
    Object.assign(this.state, {
      rowsPerSecond,
      secondsLeft,
      paused: answer.paused === true,
      problem: undefined,
    });
    if (status === 'completed' || status === 'failed') this.state.ending ??= { status, reason, via: 'poll' };
    // It never got the file, whatever the upload was told.
    else if (status === 'expired') this.urlPassed();
    this.pollDone(nowMs);
  }

  pollFailed(problem: string, nowMs: number): void {
    this.state.problem = problem;
    this.pollDone(nowMs);
  }

  pollDone(nowMs: number): void {
    this.state.polls += 1;
    this.state.pollsSinceUpload += 1;
    this.#planPoll(nowMs);
  }

  next(nowMs: number): NextStep {
    if (this.isSettled) return { kind: 'done' };
    const { deadlineAtMs, nextPollAtMs = deadlineAtMs } = this.state;
    if (nowMs >= deadlineAtMs) return { kind: 'give-up' };
    if (nowMs >= nextPollAtMs) return { kind: 'poll' };
    const untilMs = Math.min(nextPollAtMs, deadlineAtMs);
    return { kind: 'wait', ms: untilMs - nowMs, for: untilMs === deadlineAtMs ? 'deadline' : 'status' };
  }

  /** The exchange need not be waited for any more: it has ended, or there must be another request. */
  get isSettled(): boolean {
    return this.state.ending !== undefined || this.state.phase !== 'processing';
  }

  giveUp(): void {
    this.state.ending = { status: 'timed-out', reason: 'no outcome before the deadline' };
  }

  /** After the ending: is there a result to read? */
  closeWaiting(): void {
    if (this.state.phase !== 'processing') return;
    this.state.phase = this.state.ending?.status === 'completed' ? 'reading-result' : 'ended';
  }

  resultTaken(outcome: BulkResult): void {
    const { rows } = outcome.counts;
    this.state.outcome = outcome;
    this.state.counts = { ...outcome.counts, handled: rows };
    this.state.phase = 'ended';
  }

  /** Numbers the pauses and resumes: each is a call of its own. */
  nextCommand(): number {
    this.state.commands += 1;
    return this.state.commands;
  }

  #planPoll(nowMs: number): void {
    const { pollFirstMs, pollMaxMs } = this.#timing;
    this.state.nextPollAtMs = nowMs + Math.min(pollFirstMs * 2 ** this.state.pollsSinceUpload, pollMaxMs);
  }
}
