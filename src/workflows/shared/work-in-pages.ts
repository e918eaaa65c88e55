import { allHandlersFinished, condition, workflowInfo } from '@temporalio/workflow';
import { hasNewerBuild } from './current-build.ts';
import type { Gate } from './gate.ts';
import { pauseAfter, shouldContinueAsNew, type Use } from './pacing.ts';

/** The outcome of one page. */
export interface PageDone {
  isLast: boolean;
  uses: readonly Use[];
  /** A wait that the page itself requires before the next one, in milliseconds, and the reason. */
  wait?: { ms: number; why: string };
}

export interface PagedWork {
  gate: Gate;
  pagesPerRun: number;
  nextPage(): Promise<PageDone>;
  /** Continues the workflow as new, carrying its progress over. */
  continueAsNew(): Promise<never>;
}

/**
 * Processes a long task page by page. Keeps within the budgets, can be paused and stopped between pages, and continues as
 * new to keep the history short. Resolves after the last page, or when the gate is stopped.
 */
export async function workInPages({ gate, pagesPerRun, nextPage, continueAsNew }: PagedWork): Promise<void> {
  for (let pages = 1; await gate.pass(); pages += 1) {
    const begunAt = Date.now();
    const { isLast, uses, wait } = await nextPage();
    if (isLast) return;
    const paceMs = pauseAfter(uses, Date.now() - begunAt);
    if (wait !== undefined && wait.ms > paceMs) await gate.wait(wait.ms, wait.why);
    else await gate.wait(paceMs, 'Keep within the budget per minute');
    if (gate.isStopped) return;
    const suggested = workflowInfo().continueAsNewSuggested || hasNewerBuild();
    if (shouldContinueAsNew({ pages, suggested }, pagesPerRun)) {
      await condition(allHandlersFinished);
      if (!gate.isStopped) await continueAsNew();
    }
  }
}
