import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  type WorkflowExecutionStatusName,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
  WorkflowNotFoundError,
  type WorkflowStartOptions,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import {
  laneOf,
  type Priority,
  type WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import { workflowDetails } from '../../../contract/workflow-details.ts';
import type { Logger } from '../../../lib/logger.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';

/**
 * How long to wait for Temporal, in milliseconds; after that, `reconcile`
 * starts the workflow.
 */
const START_TIMEOUT_MS = 5_000;

type SearchAttributes = ConstructorParameters<typeof TypedSearchAttributes>[0];

export interface WorkflowStart {
  type: (typeof WORKFLOW_TYPES)[keyof typeof WORKFLOW_TYPES];
  /** Workflow id, from a function of contract/temporal.ts. */
  id: string;
  /** Ids and states only. */
  input: object;
  accountId: string;
  requestId?: string;
  /**
   * With any priority but `interactive`, the workflow runs in the background
   * lane.
   */
  priority: Priority;
  /** In addition to account and request. */
  searchAttributes?: SearchAttributes;
  /**
   * Summary in the Temporal UI; encrypted like a payload. May name a patient by
   * the caller's reference (decision 85).
   */
  summary: string;
  /**
   * Markdown for the Temporal UI, before what the workflow does. As `summary`.
   */
  about?: string;
  /**
   * Whether the work is still open, read anew. If it is, but its workflow has
   * completed, then PostgreSQL was restored from a backup, and the workflow is
   * started again.
   */
  isOpen(): Promise<boolean>;
  /**
   * The workflow was seen before, so it is asked for first: a start that meets
   * one with its id leaves a batch of history that no deletion reaches
   * (temporalio/temporal#12103).
   */
  wasSeen?: boolean;
  /** A signal to the workflow, which is started for it if it does not run. */
  signal?: string;
  /**
   * Starts the workflow again also after one with the same id has ended in any
   * other way, for example was terminated.
   */
  againAfterItsEnd?: boolean;
  /**
   * Terminates a running workflow with the same id and starts it again, in one
   * step: it is stuck.
   */
  replacesRunning?: boolean;
}

/**
 * Starts the workflow of committed work on the task queue of its lane. Harmless
 * if repeated. Returns `closed` if the workflow has ended, unless it completed
 * and the work is still open (decision 74). Throws if Temporal does not respond
 * within 5 s.
 */
export async function startOnce(
  temporal: Client,
  start: WorkflowStart,
): Promise<'open' | 'closed'> {
  const again =
    start.againAfterItsEnd === true || start.replacesRunning === true;
  const asksFirst = start.wasSeen === true && start.replacesRunning !== true;
  const found = asksFirst
    ? await workflowStatus(temporal, start.id)
    : undefined;
  if (found !== undefined && !ENDED.has(found)) return 'open';
  if (found === undefined || again)
    if (await startedOrOpen(temporal, start, again)) return 'open';
  // Asked in this order: a workflow commits the end of the work before it
  // completes.
  const status = found ?? (await workflowStatus(temporal, start.id));
  if (status !== 'COMPLETED' || !(await start.isOpen())) return 'closed';
  await startedOrOpen(temporal, start, true);
  return 'open';
}

/** Any other status, also one that the client does not know, is open. */
const ENDED: ReadonlySet<WorkflowExecutionStatusName> = new Set([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
]);

/** Returns false if the workflow has ended and may not be started again. */
async function startedOrOpen(
  temporal: Client,
  start: WorkflowStart,
  againAfterItsEnd: boolean,
): Promise<boolean> {
  const { accountId, requestId } = start;
  const options: WorkflowStartOptions = {
    workflowId: start.id,
    taskQueue: laneOf(start.priority),
    args: [start.input],
    workflowIdReusePolicy: againAfterItsEnd
      ? WorkflowIdReusePolicy.ALLOW_DUPLICATE
      : WorkflowIdReusePolicy.REJECT_DUPLICATE,
    workflowIdConflictPolicy:
      start.replacesRunning === true
        ? WorkflowIdConflictPolicy.TERMINATE_EXISTING
        : WorkflowIdConflictPolicy.USE_EXISTING,
    priority: { priorityKey: start.priority, fairnessKey: accountId },
    typedSearchAttributes: new TypedSearchAttributes([
      { key: searchAttribute.accountId, value: accountId },
      ...(requestId === undefined
        ? []
        : [{ key: searchAttribute.requestId, value: requestId }]),
      ...(start.searchAttributes ?? []),
    ]),
    staticSummary: start.summary,
    staticDetails: [start.about, workflowDetails(start.type)]
      .filter(Boolean)
      .join('\n\n'),
  };
  const { signal } = start;
  try {
    await temporal.withDeadline<unknown>(Date.now() + START_TIMEOUT_MS, () =>
      signal === undefined
        ? temporal.workflow.start(start.type, options)
        : temporal.workflow.signalWithStart(start.type, { ...options, signal }),
    );
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

/**
 * Whether an operator ended the last execution in Temporal. False if Temporal
 * does not know the workflow.
 */
export async function wasEndedByHand(
  temporal: Client,
  workflowId: string,
): Promise<boolean> {
  const status = await workflowStatus(temporal, workflowId);
  return status === 'CANCELLED' || status === 'TERMINATED';
}

/** The status of the last execution; undefined if Temporal knows none. */
async function workflowStatus(
  temporal: Client,
  workflowId: string,
): Promise<WorkflowExecutionStatusName | undefined> {
  try {
    const { status } = await temporal.withDeadline(
      Date.now() + START_TIMEOUT_MS,
      () => temporal.workflow.getHandle(workflowId).describe(),
    );
    return status.name;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/**
 * Runs work after the response has been sent. Work that fails or is interrupted
 * is completed by `reconcile`.
 */
export function createBackground(logger: Logger) {
  const underWay = new Set<Promise<void>>();
  return {
    /**
     * @param what the log message on failure, such as `bulk create not started
     *   yet; reconcile will start it`
     */
    run(
      what: string,
      ids: Record<string, unknown>,
      work: () => Promise<unknown>,
    ): void {
      const running: Promise<void> = work()
        .then(() => undefined)
        .catch((error: unknown) => logger.warn({ err: error, ...ids }, what))
        .finally(() => underWay.delete(running));
      underWay.add(running);
    },
    /** Resolves when no work is in progress. */
    async drain() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
