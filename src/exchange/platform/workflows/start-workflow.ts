import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import { type PRIORITY, TASK_QUEUES, type WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';

/** Milliseconds after which a Temporal that does not answer is left to `reconcile`. */
const START_TIMEOUT_MS = 5_000;

type SearchAttributes = ConstructorParameters<typeof TypedSearchAttributes>[0];

export interface WorkflowStart {
  type: (typeof WORKFLOW_TYPES)[keyof typeof WORKFLOW_TYPES];
  /** Made by the functions of contract/temporal.ts. */
  id: string;
  /** Ids and states only. */
  input: object;
  accountId: string;
  requestId?: string;
  priority: (typeof PRIORITY)[keyof typeof PRIORITY];
  /** Beyond account and request. */
  searchAttributes?: SearchAttributes;
  /** Shown in the list and at the head of the workflow's page in the Temporal UI; nothing of a person. */
  summary: string;
  /** Markdown: what this workflow does, step by step, and how to steer it. */
  details: string;
  /** Work that a new workflow may take up where an ended one of the same id left it. */
  againAfterItsEnd?: boolean;
}

/**
 * Starts the workflow of committed work on the exchange's queue. Starting twice is harmless; `closed` when it has run
 * to its end before. Throws when Temporal does not answer within 5 s.
 */
export async function startOnce(temporal: Client, start: WorkflowStart): Promise<'open' | 'closed'> {
  const { accountId, requestId } = start;
  try {
    await temporal.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
      temporal.workflow.start(start.type, {
        workflowId: start.id,
        taskQueue: TASK_QUEUES.exchange,
        args: [start.input],
        workflowIdReusePolicy: start.againAfterItsEnd
          ? WorkflowIdReusePolicy.ALLOW_DUPLICATE
          : WorkflowIdReusePolicy.REJECT_DUPLICATE,
        workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
        priority: { priorityKey: start.priority, fairnessKey: accountId },
        typedSearchAttributes: new TypedSearchAttributes([
          { key: searchAttribute.accountId, value: accountId },
          ...(requestId === undefined ? [] : [{ key: searchAttribute.requestId, value: requestId }]),
          ...(start.searchAttributes ?? []),
        ]),
        staticSummary: start.summary,
        staticDetails: start.details,
      }),
    );
    return 'open';
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'closed';
    throw error;
  }
}

/** Work that goes on after the answer; what fails or is cut off is found by `reconcile`. */
export interface Background {
  /** @param what for the log: `bulk create not started yet; reconcile will` */
  run(what: string, ids: Record<string, unknown>, work: () => Promise<unknown>): void;
  /** Resolves when nothing is under way. */
  drain(): Promise<void>;
}

export function createBackground(logger: Logger): Background {
  const underWay = new Set<Promise<void>>();
  return {
    run(what, ids, work) {
      const running: Promise<void> = work()
        .then(() => undefined)
        .catch((error: unknown) => logger.warn({ err: error, ...ids }, what))
        .finally(() => underWay.delete(running));
      underWay.add(running);
    },
    async drain() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
