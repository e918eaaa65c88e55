import type { BulkCounts } from '../../../contract/bulk-create.ts';
import {
  type BulkCreateSignal,
  type BulkOnboardingInput,
  type BulkOnboardingStatus,
  type BulkOnboardingTiming,
  type BulkResult,
  DEFAULT_BULK_TIMING,
} from '../../../contract/bulk-onboarding.ts';
import type { LearnedBy } from '../../../contract/patient-onboarding.ts';
import { backOff } from '../../shared/work-in-pages.ts';

/**
 * What the exchange reports of a bulk create. Other services may use other
 * states, so `status` is any string.
 */
export interface BulkCreateReport {
  requestId: string;
  status: string;
  paused?: boolean;
  counts?: Partial<BulkCounts>;
  rowsPerSecond?: number;
  secondsLeft?: number;
  reason?: string;
}

/** What to do next while the exchange processes the file. */
export type BulkNextStep =
  | { kind: 'wait'; ms: number; for: 'status' | 'deadline' }
  | { kind: 'poll' }
  | { kind: 'give-up' }
  | { kind: 'done' };

/**
 * The rules of a bulk onboarding: accepts events in any order and any number of
 * times, and decides what to do next. Plain rules that know neither Temporal
 * nor the exchange, so that tests can apply them in any order. All times are
 * milliseconds of the caller's clock.
 */
export class BulkOnboarding {
  readonly state: BulkState;
  readonly #timing: BulkOnboardingTiming;

  /**
   * `carried` is the state of an earlier run of the same orchestration
   * (continue-as-new).
   */
  constructor(input: BulkOnboardingInput, nowMs: number, carried?: BulkState) {
    this.#timing = { ...DEFAULT_BULK_TIMING, ...input.timing };
    this.state =
      carried ?? newBulkState(input.rows, nowMs + this.#timing.deadlineMs);
  }

  /** The current request; earlier ones had upload URLs that expired unused. */
  get requestId(): string | undefined {
    return this.state.requestIds.at(-1);
  }

  /**
   * So many URLs may expire unused; those that expired while the exchange was
   * unavailable count only against the deadline.
   */
  mayRequestAgain(nowMs: number): boolean {
    const { requestIds, outages = 0, deadlineAtMs } = this.state;
    if (outages > 0 && nowMs >= deadlineAtMs) return false;
    return requestIds.length - outages < this.#timing.requestsMax;
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

  /**
   * The upload URL expired before the exchange had the file, because it could
   * not take it.
   */
  urlExpiredInOutage(): void {
    this.urlExpired();
    this.state.outages = (this.state.outages ?? 0) + 1;
    this.state.problem =
      'the exchange could not take the file; requesting another upload URL';
  }

  /** The upload URL expired before the exchange had the file. */
  urlExpired(): void {
    this.state.phase = 'requesting';
    this.state.uploadUrl = undefined;
    this.state.problem = 'the upload URL expired unused; requesting another';
  }

  webhook(event: BulkCreateSignal): void {
    if (this.state.seenMessageIds.includes(event.messageId)) return;
    this.state.seenMessageIds.push(event.messageId);
    this.state.webhooksReceived += 1;
    // Events of earlier requests, whose URLs expired, no longer matter.
    if (event.requestId !== this.requestId || event.status === 'processing')
      return;
    const { status, result: link, reason } = event;
    // A webhook has the link to the result; a poll that came first may not.
    this.state.ending = {
      via: this.state.ending?.via ?? 'webhook',
      status,
      link,
      reason,
    };
  }

  polled(report: BulkCreateReport, nowMs: number): void {
    const { counts, rowsPerSecond, secondsLeft, status, reason } = report;
    // Until the exchange has checked the file, it reports 0 rows; our own count
    // is better.
    const rows = counts?.rows || this.state.counts.rows;
    this.state.counts = { ...this.state.counts, ...counts, rows };
    Object.assign(this.state, {
      rowsPerSecond,
      secondsLeft,
      paused: report.paused === true,
      problem: undefined,
    });
    if (status === 'completed' || status === 'failed')
      this.state.ending ??= { status, reason, via: 'poll' };
    // The exchange never received the file, whatever it answered to the upload.
    else if (status === 'expired') this.urlExpired();
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

  next(nowMs: number): BulkNextStep {
    if (this.isSettled) return { kind: 'done' };
    const { deadlineAtMs, nextPollAtMs = deadlineAtMs } = this.state;
    if (nowMs >= deadlineAtMs) return { kind: 'give-up' };
    if (nowMs >= nextPollAtMs) return { kind: 'poll' };
    const untilMs = Math.min(nextPollAtMs, deadlineAtMs);
    return {
      kind: 'wait',
      ms: untilMs - nowMs,
      for: untilMs === deadlineAtMs ? 'deadline' : 'status',
    };
  }

  /**
   * The wait for the exchange is over: the request has ended, or another
   * request must be made.
   */
  get isSettled(): boolean {
    return this.state.ending !== undefined || this.state.phase !== 'processing';
  }

  giveUp(): void {
    this.state.ending = {
      status: 'timed-out',
      reason: 'no outcome before the deadline',
    };
  }

  /** After the wait: reads the result if there is one, or else ends. */
  closeWaiting(): void {
    if (this.state.phase !== 'processing') return;
    this.state.phase =
      this.state.ending?.status === 'completed' ? 'reading-result' : 'ended';
  }

  resultTaken(outcome: BulkResult): void {
    const { rows } = outcome.counts;
    this.state.outcome = outcome;
    this.state.counts = { ...outcome.counts, handled: rows };
    this.state.phase = 'ended';
  }

  /** Numbers the pauses and resumes, because each is a separate call. */
  nextCommand(): number {
    this.state.commands += 1;
    return this.state.commands;
  }

  #planPoll(nowMs: number): void {
    const { pollFirstMs, pollMaxMs } = this.#timing;
    this.state.nextPollAtMs =
      nowMs + backOff(this.state.pollsSinceUpload, pollFirstMs, pollMaxMs);
  }
}

/** How the request ended, according to a webhook or a poll. */
export interface BulkEnding {
  status: 'completed' | 'failed' | 'timed-out';
  via?: LearnedBy;
  /** Link to the result CSV, if a webhook contained one. */
  link?: string;
  reason?: string;
}

/**
 * The complete state of an orchestration: plain data of a few KB, carried over
 * a continue-as-new.
 */
export interface BulkState {
  phase: BulkOnboardingStatus['phase'];
  requestIds: string[];
  /**
   * How many of these requests expired because the exchange could not take the
   * file. Absent: none.
   */
  outages?: number;
  uploadUrl?: string;
  paused: boolean;
  /** Number of pauses and resumes requested. */
  commands: number;
  counts: BulkCounts;
  rowsPerSecond?: number;
  secondsLeft?: number;
  ending?: BulkEnding;
  outcome?: BulkResult;
  seenMessageIds: string[];
  webhooksReceived: number;
  polls: number;
  pollsSinceUpload: number;
  nextPollAtMs?: number;
  deadlineAtMs: number;
  problem?: string;
}

export const newBulkState = (
  rows: number,
  deadlineAtMs: number,
): BulkState => ({
  phase: 'requesting',
  requestIds: [],
  paused: false,
  commands: 0,
  counts: { rows, handled: 0, created: 0, updated: 0, failed: 0 },
  seenMessageIds: [],
  webhooksReceived: 0,
  polls: 0,
  pollsSinceUpload: 0,
  deadlineAtMs,
});
