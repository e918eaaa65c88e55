import {
  type Client,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdConflictPolicy,
  WorkflowIdReusePolicy,
} from '@temporalio/client';
import { TypedSearchAttributes } from '@temporalio/common';
import type { NetworkQueryInput } from '../../contract/network-query-workflow.ts';
import { networkQueryWorkflowId, PRIORITY, TASK_QUEUES, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import { searchAttribute } from '../../temporal/search-attributes.ts';
import type { Store } from '../store/database.ts';
import { markRunStarted, readRun } from '../store/network-queries.ts';

export interface Launcher {
  /** Starts the workflow of a committed run, soon and in the background; what fails here `reconcile` starts. */
  launch(accountId: string, requestId: string, run: number): void;
  /** The same, awaited. Starting twice is harmless; `closed` when the workflow has run to its end before. */
  start(accountId: string, requestId: string, run: number): Promise<'open' | 'closed'>;
  /** Resolves when nothing started by `launch` is under way. */
  drain(): Promise<void>;
}

/** Milliseconds after which a Temporal that does not answer is left to `reconcile`. */
const START_TIMEOUT_MS = 5_000;

export function createLauncher(deps: { store: Store; temporal: Client; logger: Logger }): Launcher {
  const underWay = new Set<Promise<void>>();

  async function start(accountId: string, requestId: string, run: number): Promise<'open' | 'closed'> {
    const { origin, sources } = await deps.store.asAccount(accountId, (tx) => readRun(tx, requestId, run));
    const input: NetworkQueryInput = { accountId, requestId, run, sources };
    let state: 'open' | 'closed' = 'open';
    const names = sources.map(({ source }) => source);
    try {
      await deps.temporal.withDeadline(Date.now() + START_TIMEOUT_MS, () =>
        deps.temporal.workflow.start(WORKFLOW_TYPES.networkQuery, {
          workflowId: networkQueryWorkflowId(requestId, run),
          taskQueue: TASK_QUEUES.exchange,
          args: [input],
          workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
          workflowIdConflictPolicy: WorkflowIdConflictPolicy.USE_EXISTING,
          priority: {
            priorityKey: origin === 'interactive' ? PRIORITY.interactive : PRIORITY[origin],
            fairnessKey: accountId,
          },
          typedSearchAttributes: new TypedSearchAttributes([
            { key: searchAttribute.accountId, value: accountId },
            { key: searchAttribute.requestId, value: requestId },
            { key: searchAttribute.sources, value: names },
            { key: searchAttribute.queryStatus, value: 'running' },
          ]),
          staticSummary:
            run === 0 ? `Network query of ${names.join(', ')}` : `Network query: ${names.join(', ')} again`,
          staticDetails: STORY,
        }),
      );
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
      state = 'closed';
    }
    await deps.store.asAccount(accountId, (tx) => markRunStarted(tx, requestId, run));
    return state;
  }

  return {
    start,
    launch(accountId, requestId, run) {
      const work: Promise<void> = start(accountId, requestId, run)
        .then(() => undefined)
        .catch((error: unknown) =>
          deps.logger.warn({ err: error, requestId, run }, 'query not started yet; reconcile will'),
        )
        .finally(() => underWay.delete(work));
      underWay.add(work);
    },
    drain: async () => {
      await Promise.all(underWay);
    },
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const STORY = [
  'Collects one patient’s records from the sources, all at the same time.',
  '',
  '1. **askSource** finds the patient at the source and asks for the data; a source that answers at once is collected in the same step.',
  '2. A source that needs time calls back (signal `sourceCallback`); if it does not, a timer asks it (**collectSource**).',
  '3. Each source’s end is written together with its webhook. A failed attempt is tried again after a back-off.',
  '',
  'Steer it with the updates `retrySource`, `giveUpSource` and `cancelQuery`.',
].join('\n');
