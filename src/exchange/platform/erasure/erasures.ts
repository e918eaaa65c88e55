import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../database/database.ts';
import { readPauses } from '../recovery/pause-store.ts';
import { healEach, type Recovery, type TakenUp } from '../recovery/recovery.ts';
import { createBackground } from '../workflows/start-workflow.ts';
import { deleteErasures, type Erasure, pendingErasures, postponeErasure } from './erasure-store.ts';

/** Erases blobs and stops workflows after their rows were deleted. */
export interface Erasures {
  /** Starts the pending erasures in the background; `reconcile` repeats those that fail. */
  start(): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** Maximum number of erasures started after a request; `reconcile` does the rest. */
const BACKGROUND_MAX = 500;
/** Number of erasures recorded as done together. After a crash that many may be repeated, which is harmless. */
const BATCH = 50;
const STOP_TIMEOUT_MS = 5_000;

export function createErasures(deps: {
  store: Store;
  blobs: Pick<BlobStore, 'delete'>;
  stopWorkflow(workflowId: string): Promise<void>;
  logger: Logger;
}): Erasures {
  const { store, blobs } = deps;
  const background = createBackground(deps.logger);

  async function erase({ kind, ref }: Erasure): Promise<void> {
    if (kind === 'blob') await blobs.delete(ref);
    else await deps.stopWorkflow(ref);
  }

  async function takeUp(limit: number, signal: AbortSignal): Promise<TakenUp> {
    // Also those that a deletion starts itself wait while deleting is paused.
    const todo = await store.asSystem(async (tx) =>
      (await readPauses(tx)).some(({ part }) => part === 'deleting') ? [] : pendingErasures(tx, limit),
    );
    const total: TakenUp = { found: 0, healed: 0, failures: [], oldestSince: todo[0]?.since };
    for (let start = 0; start < todo.length && !signal.aborted; start += BATCH) {
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
    start: () =>
      background.run('erasure not finished yet; reconcile will finish it', {}, async () => {
        const { failures } = await takeUp(BACKGROUND_MAX, new AbortController().signal);
        if (failures.length > 0) throw failures[0];
      }),
    recovery: { name: 'erasures', deletes: true, takeUp: ({ limit, signal }) => takeUp(limit, signal) },
    drain: () => background.drain(),
  };
}

/** Returns a function that cancels a workflow. A workflow that has ended, or was never started, is ignored. */
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
