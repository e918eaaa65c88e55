import type { BulkCounts } from '../../contract/bulk-create-workflow.ts';
import type { CsvLayout } from '../../contract/bulk-csv/layout.ts';
import { createRowReader } from '../../contract/bulk-csv/row-reader.ts';
import type { BlobRef } from '../blobs/blob-store.ts';
import {
  completeChunk,
  holdChunk,
  listOpenChunks,
  type OpenChunk,
  readBulkWork,
} from '../store/bulk-chunks.ts';
import { retryOvertaken } from '../store/retry.ts';
import type { BulkEngineDeps, ProcessOptions, ProcessOutcome } from './engine.ts';
import { type BulkJob, judgeChunk } from './judge-chunk.ts';
import { type ChunkReader, type PreparedChunk, prepareChunk } from './prepare-chunk.ts';
import { resultPart } from './result-part.ts';
import { writeChunk } from './write-chunk.ts';

/**
 * Handles the open chunks of a request, one transaction each, in the order of the file, so that of two rows of one
 * person the later one always finds the earlier one's patient. While PostgreSQL works on a chunk, the next one is read
 * and judged. Whatever ends this in the middle, the next call goes on after the last committed chunk.
 */
export async function processChunks(
  deps: BulkEngineDeps,
  accountId: string,
  requestId: string,
  options: ProcessOptions,
): Promise<ProcessOutcome> {
  const { work, open } = await deps.store.asAccount(accountId, async (tx) => ({
    work: await readBulkWork(tx, requestId),
    open: await listOpenChunks(tx, requestId),
  }));
  const { upload, layout } = work;
  let { counts } = work;
  if (work.status !== 'processing') return { done: false, counts, stopped: 'ended' };
  if (upload === undefined || layout === undefined)
    throw new Error('the format of the upload has not been checked');

  const job = { accountId, requestId, facilityId: work.facilityId, dryRun: work.dryRun, layout };
  const reader = {
    blobs: deps.blobs,
    upload,
    readRow: createRowReader(layout),
    hmacKey: deps.hmacKey,
    accountId,
  };
  const batch = open.slice(0, options.maxChunks);
  const ahead = createReadAhead(reader, batch);
  for (const place of batch.keys()) {
    options.signal?.throwIfAborted();
    if (options.untilMs !== undefined && Date.now() >= options.untilMs) return { done: false, counts };
    const settled = await settleChunk(deps, job, await ahead.take(place), () => ahead.begin(place + 1));
    if (settled.stopped === 'done') continue;
    if (settled.stopped !== undefined) return { done: false, counts, stopped: settled.stopped };
    counts = settled.counts;
    options.onChunk?.(counts);
  }
  return { done: batch.length === open.length, counts };
}

type Settled = { counts: BulkCounts; stopped?: undefined } | { stopped: 'done' | 'ended' | 'paused' };

/**
 * One chunk in one transaction: rows, checkpoint and counts, and the reference of its part of the result, whose blob is
 * safe by then. `onWriting`: PostgreSQL is busy from now on.
 */
function settleChunk(
  { store, blobs }: BulkEngineDeps,
  job: BulkJob & { accountId: string; layout: CsvLayout },
  chunk: PreparedChunk,
  onWriting: () => void,
): Promise<Settled> {
  return retryOvertaken(async () => {
    let part: BlobRef | undefined;
    let isReferenced = false;
    try {
      return await store.asAccount(job.accountId, async (tx): Promise<Settled> => {
        const { stop } = await holdChunk(tx, job.requestId, chunk.chunk);
        if (stop !== undefined) return { stopped: stop };
        const judged = await judgeChunk(tx, job, chunk);
        const writing = writeChunk(tx, job, judged);
        onWriting();
        const { counts, csv } = resultPart(job, judged, job.layout);
        const [written, kept] = await Promise.allSettled([writing, blobs.put('result', csv, 'text/csv')]);
        if (kept.status === 'fulfilled') part = kept.value;
        if (written.status === 'rejected') throw written.reason;
        if (kept.status === 'rejected') throw kept.reason;
        const total = await completeChunk(tx, job.requestId, chunk, counts, kept.value);
        if (total === undefined) throw new RequestEndedError();
        // From here on a lost answer may mean a commit, and the blob belongs to it.
        isReferenced = true;
        return { counts: total };
      });
    } catch (error) {
      if (part !== undefined && !isReferenced) await blobs.delete(part.ref);
      if (error instanceof RequestEndedError) return { stopped: 'ended' };
      throw error;
    }
  });
}

/** The request ended while its chunk was handled: the transaction is rolled back. */
class RequestEndedError extends Error {
  override readonly name = 'RequestEndedError';
}

/** Prepares a chunk before its turn. */
function createReadAhead(reader: ChunkReader, chunks: readonly OpenChunk[]) {
  const begun = new Map<number, Promise<PreparedChunk>>();
  const begin = (place: number): void => {
    const chunk = chunks[place];
    if (chunk === undefined || begun.has(place)) return;
    const preparing = prepareChunk(reader, chunk);
    // Whoever takes it learns of its failure; perhaps nobody does.
    preparing.catch(() => undefined);
    begun.set(place, preparing);
  };
  return {
    begin,
    take(place: number): Promise<PreparedChunk> {
      begin(place);
      const preparing = begun.get(place);
      begun.delete(place);
      return preparing ?? Promise.reject(new Error(`there is no chunk at place ${place}`));
    },
  };
}
