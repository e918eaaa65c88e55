import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from '../../lib/logger.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { createBackground } from '../platform/workflows/start-workflow.ts';
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

  async function takeUp(limit: number): Promise<number> {
    const failures: unknown[] = [];
    const todo = await store.asSystem((tx) => pendingErasures(tx, limit));
    for (let start = 0; start < todo.length; start += BATCH) {
      const done: Erasure[] = [];
      for (const erasure of todo.slice(start, start + BATCH)) {
        try {
          await erase(erasure);
          done.push(erasure);
        } catch (error) {
          failures.push(error);
          await store.asSystem((tx) => postponeErasure(tx, erasure));
        }
      }
      await store.asSystem((tx) => deleteErasures(tx, done));
    }
    // Thrown at the end, so that one failure does not block the others.
    if (failures.length > 0) throw failures[0];
    return todo.length;
  }

  return {
    start: () =>
      background.run('erasure not finished yet; reconcile will finish it', {}, () => takeUp(BACKGROUND_MAX)),
    recovery: { name: 'erasures', takeUp },
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
