import type { BulkCounts } from '../../../contract/bulk-create.ts';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import type { CsvLayout } from '../../../shared/bulk-csv/layout.ts';
import { retryOvertaken } from '../../platform/database/retry.ts';
import { completeChunk, lockChunk } from './chunk-store.ts';
import type { BulkEngineDeps } from './engine-steps.ts';
import { type BulkJob, judgeChunk } from './judge-chunk.ts';
import type { PreparedChunk } from './prepare-chunk.ts';
import { resultPart } from './result-part.ts';
import { writeChunk } from './write-chunk.ts';

export interface TurnJob extends BulkJob {
  accountId: string;
  layout: CsvLayout;
}

/** How a turn ended. `done`: another execution of this step has processed the chunk. */
export type TurnEnd = { counts: BulkCounts; stop?: undefined } | { stop: 'done' | 'ended' | 'paused' };

/** A chunk whose transaction is running. */
export interface ChunkTurn {
  /** Identity keys of its persons. */
  keys: ReadonlySet<string>;
  /** Resolves when the transaction holds all locks it may have to wait for, or has ended. Rejects when it fails. */
  holdsAll: Promise<void>;
  /** Resolves after the transaction; rejects when it was rolled back by an error. */
  ended: Promise<TurnEnd>;
}

/**
 * Processes one chunk in one transaction: rows, checkpoint, counts, and the reference to its part of the result, whose blob
 * is stored before.
 *
 * Chunks before it (`earlier`, in file order) may still be running. If one of them shares a person, this chunk waits for its
 * end. It takes no lock before they hold all of theirs, so that two imports never deadlock, and it commits only after them.
 * Chunks therefore take effect in file order, and a crash never leaves a gap.
 */
export function beginTurn(
  { store, blobs }: Pick<BulkEngineDeps, 'store' | 'blobs'>,
  job: TurnJob,
  chunk: PreparedChunk,
  earlier: readonly ChunkTurn[],
): ChunkTurn {
  const before = earlier.at(-1);
  let resolveHeld = (): void => undefined;
  let isHeld = false;
  const held = new Promise<void>((resolve) => {
    resolveHeld = () => {
      isHeld = true;
      resolve();
    };
  });
  const ended = run();
  // The next turn sees a failure by awaiting this. There may be no next turn, so a rejection is also handled here.
  const holdsAll = Promise.race([held, ended.then(() => undefined)]);
  holdsAll.catch(() => undefined);
  return { keys: chunk.keys, holdsAll, ended };

  async function run(): Promise<TurnEnd> {
    await before?.holdsAll;
    // Turns end one after the other, so waiting for the last one that shares a person is enough.
    await earlier.findLast(({ keys }) => haveCommon(chunk.keys, keys))?.ended;
    return retryOvertaken(attempt, () => !isHeld);
  }

  async function attempt(): Promise<TurnEnd> {
    let part: BlobRef | undefined;
    let isReferenced = false;
    try {
      return await store.asAccount(job.accountId, async (tx): Promise<TurnEnd> => {
        const locked = await lockChunk(tx, job.requestId, chunk.chunk);
        if (locked.stop !== undefined) return { stop: locked.stop };
        const judged = await judgeChunk(tx, job, chunk);
        resolveHeld();
        const writing = writeChunk(tx, job, judged);
        // Awaited below; without a handler until then, a failure would be an unhandled rejection.
        writing.catch(() => undefined);
        const { counts, csv } = resultPart(job, judged, job.layout);
        const [written, stored] = await Promise.allSettled([writing, blobs.put('result', csv, 'text/csv')]);
        if (stored.status === 'fulfilled') part = stored.value;
        if (written.status === 'rejected') throw written.reason;
        if (stored.status === 'rejected') throw stored.reason;
        const stop = (await before?.ended)?.stop;
        if (stop === 'ended' || stop === 'paused') throw new StoppedError(stop);
        const total = await completeChunk(tx, job.requestId, chunk, counts, stored.value);
        if (total === undefined) throw new StoppedError('ended');
        // From here on, an error may hide a successful commit that refers to the blob, so the blob stays.
        isReferenced = true;
        return { counts: total };
      });
    } catch (error) {
      if (part !== undefined && !isReferenced) await blobs.delete(part.ref);
      if (error instanceof StoppedError) return { stop: error.stop };
      throw error;
    }
  }
}

function haveCommon(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  for (const key of left) if (right.has(key)) return true;
  return false;
}

/** Rolls the transaction back, because the request ended or was paused while its chunk was processed. */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
  constructor(readonly stop: 'ended' | 'paused') {
    super(`The bulk create is ${stop}`);
  }
}
