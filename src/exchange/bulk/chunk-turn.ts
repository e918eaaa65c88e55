import type { BulkCounts } from '../../contract/bulk-create-workflow.ts';
import type { CsvLayout } from '../../contract/bulk-csv/layout.ts';
import type { BlobRef } from '../blobs/blob-store.ts';
import { completeChunk, holdChunk } from '../store/bulk-chunks.ts';
import type { BulkEngineDeps } from './engine.ts';
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
  /** Resolves when it holds all its persons, or needs none: from then on the next chunk cannot get before it. */
  locked: Promise<void>;
  /** Its end; rejects when nothing of it stays. */
  ended: Promise<TurnEnd>;
}

/**
 * One chunk in one transaction: rows, checkpoint, counts, and the reference of its part of the result, whose blob is safe
 * by then.
 *
 * The chunk before it may still be under way. This one takes its persons only after that one has, so of a person in both
 * it waits for the other's commit; and it commits only after that one has. So chunks take effect in the order of the
 * file, and whatever kills them leaves no gap.
 */
export function beginTurn(
  { store, blobs }: Pick<BulkEngineDeps, 'store' | 'blobs'>,
  job: TurnJob,
  chunk: PreparedChunk,
  before?: ChunkTurn,
): ChunkTurn {
  let tellLocked = (): void => undefined;
  const holdsAll = new Promise<void>((resolve) => {
    tellLocked = resolve;
  });
  const ended = run();
  // Who waits for the lock of a turn that fails learns of the failure; perhaps nobody waits.
  const locked = Promise.race([holdsAll, ended.then(() => undefined)]);
  locked.catch(() => undefined);
  return { locked, ended };

  async function run(): Promise<TurnEnd> {
    await before?.locked;
    let part: BlobRef | undefined;
    let isReferenced = false;
    try {
      return await store.asAccount(job.accountId, async (tx): Promise<TurnEnd> => {
        const held = await holdChunk(tx, job.requestId, chunk.chunk);
        if (held.stop !== undefined) return { stop: held.stop };
        const judged = await judgeChunk(tx, job, chunk, tellLocked);
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

/** Rolls the transaction back: the request ended or was paused while its chunk was handled. */
class StoppedError extends Error {
  override readonly name = 'StoppedError';
  constructor(readonly stop: 'ended' | 'paused') {
    super(`the request is ${stop}`);
  }
}
