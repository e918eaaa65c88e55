import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import type { Gate } from './gate.ts';
import { isTimeToBeginAnew, pauseAfter, type Use } from './pacing.ts';

/** What became of one page. */
export interface PageDone {
  isLast: boolean;
  uses: readonly Use[];
  /** What the page itself found must be waited for, in milliseconds, and why. */
  wait?: { ms: number; why: string };
}

export interface PagedWork {
  gate: Gate;
  pagesPerRun: number;
  nextPage(): Promise<PageDone>;
  /** Begins the workflow anew from where it stands. */
  beginAnew(): Promise<never>;
}

/**
 * Works through something long page by page: within budgets, to be held and stopped between two pages, in a history
 * that stays short. Resolves after the last page, or when the gate is stopped.
 */
export async function workInPages({ gate, pagesPerRun, nextPage, beginAnew }: PagedWork): Promise<void> {
  for (let pages = 1; await gate.pass(); pages += 1) {
    const begunAt = Date.now();
    const { isLast, uses, wait } = await nextPage();
    if (isLast) return;
    const paceMs = pauseAfter(uses, Date.now() - begunAt);
    if (wait !== undefined && wait.ms > paceMs) await gate.wait(wait.ms, wait.why);
    else await gate.wait(paceMs, 'Keep to the budget of a minute');
    if (gate.isStopped) return;
    if (isTimeToBeginAnew({ pages, suggested: workflowInfo().continueAsNewSuggested }, pagesPerRun)) {
      await condition(allHandlersFinished);
      if (!gate.isStopped) await beginAnew();
    }
  }
}
