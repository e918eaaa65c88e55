import {
  allHandlersFinished,
  condition,
  workflowInfo,
} from '@temporalio/workflow';
import { hasNewerBuild } from './own-run.ts';

/** The outcome of one page. */
export interface PageDone {
  isLast: boolean;
  uses: readonly Use[];
  /**
   * A wait that the page itself requires before the next one, in milliseconds,
   * and the reason.
   */
  wait?: { ms: number; why: string };
}

export interface PagedWork {
  /** Absent: the work cannot be paused or stopped in between. */
  gate?: Gate;
  pagesPerRun: number;
  nextPage(): Promise<PageDone>;
  /** Continues the workflow as new, carrying its progress over. */
  continueAsNew(): Promise<never>;
}

/**
 * Processes a long task page by page. Keeps within the budgets, can be paused
 * and stopped between pages, and continues as new to keep the history short.
 * Resolves after the last page, or when the gate is stopped.
 */
export async function workInPages({
  gate = new Gate(),
  pagesPerRun,
  nextPage,
  continueAsNew,
}: PagedWork): Promise<void> {
  for (let pages = 1; await gate.pass(); pages += 1) {
    const begunAt = Date.now();
    const { isLast, uses, wait } = await nextPage();
    if (isLast) return;
    const paceMs = pauseAfter(uses, Date.now() - begunAt);
    if (wait !== undefined && wait.ms > paceMs)
      await gate.wait(wait.ms, wait.why);
    else await gate.wait(paceMs, 'Keep within the budget per minute');
    if (gate.isStopped) return;
    const suggested = workflowInfo().continueAsNewSuggested || hasNewerBuild();
    if (shouldContinueAsNew({ pages, suggested }, pagesPerRun)) {
      await condition(allHandlersFinished);
      if (!gate.isStopped) await continueAsNew();
    }
  }
}

/** How much of a per-minute budget a piece of work has used. */
interface Use {
  count: number;
  perMinute: number;
}

/**
 * Milliseconds to wait before the next piece of work, so that all of them
 * together stay within each budget: a piece that used `count` takes up `count /
 * perMinute` minutes, of which `elapsedMs` have passed. Unused budget does not
 * accumulate.
 */
export function pauseAfter(uses: readonly Use[], elapsedMs: number): number {
  const dueMs = uses.map(
    ({ count, perMinute }) => (count * 60_000) / Math.max(perMinute, 1),
  );
  return Math.max(0, Math.ceil(Math.max(0, ...dueMs) - elapsedMs));
}

/**
 * Limits the page size so that a single page never exceeds the budget of one
 * minute. At least 1.
 */
export const pageWithin = (pageSize: number, perMinute: number): number =>
  Math.max(1, Math.min(pageSize, Math.floor(perMinute)));

/**
 * The wait before try number `tries` (from 0), in milliseconds: doubles with
 * each try, up to `maxMs`.
 */
export const backOff = (
  tries: number,
  firstMs: number,
  maxMs: number,
): number => Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30));

/**
 * Formats milliseconds since the epoch as ISO 8601; undefined stays undefined.
 */
export const instant = (ms: number | undefined): string | undefined =>
  ms === undefined ? undefined : new Date(ms).toISOString();

/**
 * Whether to continue as new, so that the history stays short: after
 * `pagesPerRun` pages, or when Temporal suggests it.
 */
export const shouldContinueAsNew = (
  { pages, suggested }: { pages: number; suggested: boolean },
  pagesPerRun: number,
): boolean => pages >= pagesPerRun || suggested;

/** Lets commands pause, resume and stop a paged workflow between two pages. */
export class Gate {
  #state: 'open' | 'paused' | 'stopped';

  constructor(isPaused = false) {
    this.#state = isPaused ? 'paused' : 'open';
  }

  get isPaused(): boolean {
    return this.#state === 'paused';
  }

  get isStopped(): boolean {
    return this.#state === 'stopped';
  }

  pause(): void {
    if (this.#state === 'open') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'open';
  }

  /** Stops the work permanently. */
  stop(): void {
    this.#state = 'stopped';
  }

  /**
   * Waits while paused. Returns true when the work may continue, false when it
   * was stopped.
   */
  async pass(): Promise<boolean> {
    if (this.isPaused) await condition(() => !this.isPaused);
    return !this.isStopped;
  }

  /** Waits for `waitMs`, or until the gate is stopped. */
  async wait(waitMs: number, summary: string): Promise<void> {
    if (waitMs > 0 && !this.isStopped)
      await condition(() => this.isStopped, waitMs, { summary });
  }
}
