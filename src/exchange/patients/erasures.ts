import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Logger } from '../../lib/logger.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { createBackground } from '../platform/workflows/start-workflow.ts';
import { type Erasure, erasuresToDo, forgetErasures, postponeErasure } from './erasure-store.ts';

/** Does what is left when rows are gone: erases blobs, stops workflows. */
export interface Erasures {
  /** Soon and in the background; what fails here `reconcile` does. */
  start(): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** At a time in the background of a request; `reconcile` takes the rest. */
const BACKGROUND_MAX = 500;
/** Forgotten together: a crash repeats as many, and erasing twice is harmless. */
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
    const todo = await store.asSystem((tx) => erasuresToDo(tx, limit));
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
      await store.asSystem((tx) => forgetErasures(tx, done));
    }
    // One that cannot be erased keeps no other waiting.
    if (failures.length > 0) throw failures[0];
    return todo.length;
  }

  return {
    start: () =>
      background.run('not everything erased yet; reconcile will', {}, () => takeUp(BACKGROUND_MAX)),
    recovery: { name: 'erasures', takeUp },
    drain: () => background.drain(),
  };
}

/** Asks a workflow to end; one that has ended, or was never started, is fine. */
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
