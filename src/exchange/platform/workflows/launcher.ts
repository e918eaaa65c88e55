import type { Client } from '@temporalio/client';
import type { Logger } from '../../../lib/logger.ts';
import type { AccountTx, Store } from '../database/database.ts';
import { itemRecovery } from '../recovery/recovery.ts';
import {
  createBackground,
  startOnce,
  type WorkflowStart,
  wasEndedByHand,
} from './start-workflow.ts';
import type { WorkflowRows } from './workflow-rows.ts';

/**
 * The process that committed the work has this long to start its workflow
 * itself.
 */
const GRACE_MS = 5_000;
const SIGNAL_TIMEOUT_MS = 5_000;

/** What is particular to one kind of work; `Id` is the name of its id. */
export interface LaunchedWork<Id extends string>
  extends Pick<
    WorkflowStart,
    'type' | 'priority' | 'summary' | 'againAfterItsEnd'
  > {
  /** Name of the recovery. */
  name: string;
  id: Id;
  rows: WorkflowRows<Record<Id, string>>;
  /** Log message when the start in the background failed. */
  notStarted: string;
  workflowId(id: string): string;
  /**
   * Ids and states only. Undefined when the work has ended before its workflow
   * was started.
   */
  input(accountId: string, id: string): object | Promise<object | undefined>;
  /** Ends work whose workflow was ended from outside. */
  end(tx: AccountTx, id: string): Promise<unknown>;
}

export type WorkLauncher = ReturnType<typeof createWorkLauncher>;

/** Starts and signals the workflows of one kind of committed work. */
export function createWorkLauncher<Id extends string>(
  {
    store,
    temporal,
    logger,
  }: { store: Store; temporal: Client; logger: Logger },
  work: LaunchedWork<Id>,
) {
  const { rows, workflowId, type, priority, summary, againAfterItsEnd } = work;
  const background = createBackground(logger);
  const ids = (id: string) => ({ [work.id]: id }) as Record<Id, string>;

  async function start(
    accountId: string,
    id: string,
    wasSeen = false,
  ): Promise<'open' | 'closed'> {
    const input = await work.input(accountId, id);
    if (input === undefined) return 'closed';
    const state = await startOnce(temporal, {
      type,
      priority,
      summary,
      againAfterItsEnd,
      wasSeen,
      id: workflowId(id),
      input,
      accountId,
      requestId: id,
      isOpen: () =>
        store.asAccount(accountId, (tx) => rows.isOpen(tx, ids(id))),
    });
    await store.asAccount(accountId, async (tx) => {
      await rows.markSeen(tx, ids(id));
      if (state === 'closed') await work.end(tx, id);
    });
    return state;
  }

  return {
    /**
     * Starts the workflow of committed work in the background. If that fails,
     * `reconcile` starts it later.
     */
    launch: (accountId: string, id: string) =>
      background.run(work.notStarted, ids(id), () => start(accountId, id)),
    /** Sends a signal, and waits until Temporal has taken it. */
    signal: (id: string, signal: string) =>
      temporal.withDeadline(Date.now() + SIGNAL_TIMEOUT_MS, () =>
        temporal.workflow.getHandle(workflowId(id)).signal(signal),
      ),
    recovery: itemRecovery({
      name: work.name,
      find: (limit, recheckBefore) =>
        store.asSystem((tx) =>
          rows.toEnsure(tx, { olderThanMs: GRACE_MS, recheckBefore, limit }),
        ),
      async heal({ accountId, isStarted, [work.id]: id }) {
        // An operator who cancels or terminates it in Temporal has decided.
        if (
          againAfterItsEnd === true &&
          (await wasEndedByHand(temporal, workflowId(id)))
        ) {
          await store.asAccount(accountId, (tx) => work.end(tx, id));
          return true;
        }
        const state = await start(accountId, id, isStarted);
        return state === 'closed' || !isStarted;
      },
    }),
    background,
    drain: () => background.drain(),
  };
}
