import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { sql } from 'kysely';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { AccountTx, Store, SystemTx } from '../database/database.ts';
import { readPauses } from '../recovery/reconcile-state-store.ts';
import { healEach, type Recovery, type TakenUp } from '../recovery/recovery.ts';
import { createBackground } from '../workflows/start-workflow.ts';

export type Erasures = ReturnType<typeof createErasures>;

/**
 * Maximum number of erasures started after a request; `reconcile` does the
 * rest.
 */
const BACKGROUND_MAX = 500;
/**
 * Number of erasures recorded as done together. After a crash that many may be
 * repeated, which is harmless.
 */
const BATCH = 50;
const STOP_TIMEOUT_MS = 5_000;

/** Erases blobs and stops workflows after their rows were deleted. */
export function createErasures(deps: {
  store: Store;
  blobs: Pick<BlobStore, 'delete'>;
  stopWorkflow(workflowId: string): Promise<void>;
  logger: Logger;
}) {
  const { store, blobs } = deps;
  const background = createBackground(deps.logger);

  async function erase({ kind, ref }: Erasure): Promise<void> {
    if (kind === 'blob') await blobs.delete(ref);
    else await deps.stopWorkflow(ref);
  }

  async function takeUp(limit: number, signal: AbortSignal): Promise<TakenUp> {
    // Also those that a deletion starts itself wait while deleting is paused.
    const todo = await store.asSystem(async (tx) =>
      (await readPauses(tx)).some(({ part }) => part === 'deleting')
        ? []
        : pendingErasures(tx, limit),
    );
    const total: TakenUp = {
      found: 0,
      healed: 0,
      failures: [],
      oldestSince: todo[0]?.since,
    };
    for (
      let start = 0;
      start < todo.length && !signal.aborted;
      start += BATCH
    ) {
      const done: Erasure[] = [];
      const taken = await healEach(todo.slice(start, start + BATCH), {
        signal,
        async heal(erasure) {
          try {
            await erase(erasure);
          } catch (error) {
            await store.asSystem((tx) => postponeErasure(tx, erasure));
            throw error;
          }
          return done.push(erasure) > 0;
        },
      });
      await store.asSystem((tx) => deleteErasures(tx, done));
      total.found += taken.found;
      total.healed += taken.healed;
      total.failures.push(...taken.failures);
    }
    return { ...total, isBehind: todo.length === limit && total.healed > 0 };
  }

  return {
    /**
     * Starts the pending erasures in the background; `reconcile` repeats those
     * that fail.
     */
    start: () =>
      background.run(
        'erasure not finished yet; reconcile will finish it',
        {},
        async () => {
          const { failures } = await takeUp(
            BACKGROUND_MAX,
            new AbortController().signal,
          );
          if (failures.length > 0) throw failures[0];
        },
      ),
    recovery: {
      name: 'erasures',
      deletes: true,
      takeUp: ({ limit, signal }) => takeUp(limit, signal),
    } as Recovery,
    drain: () => background.drain(),
  };
}

/**
 * Returns a function that cancels a workflow. A workflow that has ended, or was
 * never started, is ignored.
 */
export const workflowStopper =
  (temporal: Client) =>
  async (workflowId: string): Promise<void> => {
    try {
      await temporal.withDeadline(Date.now() + STOP_TIMEOUT_MS, () =>
        temporal.workflow.getHandle(workflowId).cancel(),
      );
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  };

/**
 * A blob to erase or a workflow to stop, because its rows have been deleted.
 */
interface Erasure {
  kind: 'blob' | 'workflow';
  /** Reference of the blob, or id of the workflow. */
  ref: string;
}

export async function recordWorkflowsToStop(
  tx: AccountTx,
  workflowIds: readonly string[],
): Promise<void> {
  if (workflowIds.length === 0) return;
  await tx.db
    .insertInto('erasure')
    .values(
      workflowIds.map((ref) => ({
        kind: 'workflow' as const,
        ref,
        account_id: tx.accountId,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Pending erasures of all accounts, oldest first. */
async function pendingErasures(
  tx: SystemTx,
  limit: number,
): Promise<(Erasure & { since: Date })[]> {
  return tx.db
    .selectFrom('erasure')
    .select(['kind', 'ref', 'noted_at as since'])
    .orderBy('noted_at')
    .orderBy('ref')
    .limit(limit)
    .execute();
}

async function deleteErasures(
  tx: SystemTx,
  done: readonly Erasure[],
): Promise<void> {
  if (done.length === 0) return;
  await sql`
    delete from erasure using unnest(${done.map(({ kind }) => kind)}::text[], ${done.map(({ ref }) => ref)}::text[]) as done (kind, ref)
    where erasure.kind = done.kind and erasure.ref = done.ref
  `.execute(tx.db);
}

/** Moves a failed erasure to the end of the queue. */
async function postponeErasure(
  tx: SystemTx,
  { kind, ref }: Erasure,
): Promise<void> {
  await tx.db
    .updateTable('erasure')
    .set({ noted_at: sql<Date>`clock_timestamp()` })
    .where(({ and }) => and({ kind, ref }))
    .execute();
}
