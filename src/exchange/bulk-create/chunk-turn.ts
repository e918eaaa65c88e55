import type { BulkCounts } from '../../contract/bulk-create-workflow.ts';
import type { BlobRef } from '../../shared/blobs/blob-store.ts';
import type { CsvLayout } from '../../shared/bulk-csv/layout.ts';
import { retryOvertaken } from '../platform/database/retry.ts';
import { completeChunk, holdChunk } from './chunk-store.ts';
import type { BulkEngineDeps } from './engine-steps.ts';
import { type BulkJob, judgeChunk } from './judge-chunk.ts';
import type { PreparedChunk } from './prepare-chunk.ts';
import { resultPart } from './result-part.ts';
import { writeChunk } from './write-chunk.ts';

export interface TurnJob extends BulkJob {
  accountId: string;
  layout: CsvLayout;
}

/** `done`: a twin has handled this chunk. */
export type TurnEnd = { counts: BulkCounts; stop?: undefined } | { stop: 'done' | 'ended' | 'paused' };

/** A chunk in PostgreSQL's hands. */
export interface ChunkTurn {
  /** Identity keys of its persons. */
  keys: ReadonlySet<string>;
  /** Resolves when it holds all that it may have to wait for, or has ended. */
  holdsAll: Promise<void>;
  /** Its end; rejects when nothing of it stays. */
  ended: Promise<TurnEnd>;
}

/**
 * One chunk in one transaction: rows, checkpoint, counts, and the reference of its part of the result, whose blob is safe
 * by then.
 *
 * Chunks before it (`earlier`, in their order) may still be under way. With a person in both, this one waits for the other's
 * end. It takes nothing before they hold all they need, so that two imports never wait for each other in a circle; and it
 * commits only after them. So chunks take effect in the order of the file, and whatever kills them leaves no gap.
 */
export function beginTurn(
  { store, blobs }: Pick<BulkEngineDeps, 'store' | 'blobs'>,
  job: TurnJob,
  chunk: PreparedChunk,
  earlier: readonly ChunkTurn[],
): ChunkTurn {
  const before = earlier.at(-1);
  let tellHeld = (): void => undefined;
  let isHeld = false;
  const held = new Promise<void>((resolve) => {
    tellHeld = () => {
      isHeld = true;
      resolve();
    };
  });
  const ended = run();
  // Who waits for a turn that fails learns of the failure; perhaps nobody waits.
  const holdsAll = Promise.race([held, ended.then(() => undefined)]);
  holdsAll.catch(() => undefined);
  return { keys: chunk.keys, holdsAll, ended };

  async function run(): Promise<TurnEnd> {
    await before?.holdsAll;
    // They end one after the other, so the last of them is enough.
    await earlier.findLast(({ keys }) => haveCommon(chunk.keys, keys))?.ended;
    return retryOvertaken(attempt, () => !isHeld);
  }

  async function attempt(): Promise<TurnEnd> {
    let part: BlobRef | undefined;
    let isReferenced = false;
    try {
      return await store.asAccount(job.accountId, async (tx): Promise<TurnEnd> => {
        const held = await holdChunk(tx, job.requestId, chunk.chunk);
        if (held.stop !== undefined) return { stop: held.stop };
        const judged = await judgeChunk(tx, job, chunk);
        tellHeld();
        const writing = writeChunk(tx, job, judged);
        // Awaited below; until then a failure is nobody's.
        writing.catch(() => undefined);
        const { counts, csv } = resultPart(job, judged, job.layout);
        const [written, kept] = await Promise.allSettled([writing, blobs.put('result', csv, 'text/csv')]);
        if (kept.status === 'fulfilled') part = kept.value;
        if (written.status === 'rejected') throw written.reason;
        if (kept.status === 'rejected') throw kept.reason;
        const stop = (await before?.ended)?.stop;
        if (stop === 'ended' || stop === 'paused') throw new StoppedError(stop);
        const total = await completeChunk(tx, job.requestId, chunk, counts, kept.value);
        if (total === undefined) throw new StoppedError('ended');
        // From here on a lost answer may mean a commit, and the blob belongs to it.
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

/** Rolls the transaction back: the request ended or was paused while its chunk was handled. */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
  constructor(readonly stop: 'ended' | 'paused') {
    super(`the request is ${stop}`);
  }
}
