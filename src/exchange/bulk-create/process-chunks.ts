import { createRowReader } from '../../shared/bulk-csv/row-reader.ts';
import { type BulkWork, listOpenChunks, readBulkWork } from './chunk-store.ts';
import { beginTurn, type ChunkTurn } from './chunk-turn.ts';
import type { BulkEngineDeps, ProcessOptions, ProcessOutcome } from './engine-steps.ts';
import { prepareChunk } from './prepare-chunk.ts';

/** While PostgreSQL finishes one chunk it writes the next and looks for the people of a third; a fourth is read meanwhile. */
const TURNS_AT_ONCE = 3;

/**
 * Handles the open chunks of a request in the order of the file; of two rows of one person the later one always finds
 * the earlier one's patient. Whatever ends this in the middle, the next call goes on after the last committed chunk.
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
  const { facilityId, dryRun, status } = work;
  let { counts } = work;
  if (status !== 'processing') return { done: false, counts, stopped: 'ended' };
  const { upload, layout } = checkedFile(work);

  const job = { accountId, requestId, facilityId, dryRun, layout };
  const reader = { ...deps, upload, readRow: createRowReader(layout), accountId };
  const underWay: ChunkTurn[] = [];
  const chunks = open.slice(0, options.maxChunks);
  let begun = 0;
  let stopped: ProcessOutcome['stopped'];

  const awaitFirst = async (): Promise<void> => {
    const end = await underWay.shift()?.ended;
    if (end?.stop === 'ended' || end?.stop === 'paused') stopped = end.stop;
    if (end === undefined || end.stop !== undefined) return;
    counts = end.counts;
    options.onChunk?.(counts);
  };
  try {
    for (const chunk of chunks) {
      options.signal?.throwIfAborted();
      if (options.untilMs !== undefined && Date.now() >= options.untilMs) break;
      const prepared = await prepareChunk(reader, chunk);
      if (underWay.length === TURNS_AT_ONCE) await awaitFirst();
      if (stopped !== undefined) break;
      underWay.push(beginTurn(deps, job, prepared, [...underWay]));
      begun += 1;
    }
    while (underWay.length > 0) await awaitFirst();
  } finally {
    // Nothing of this call goes on after it.
    await Promise.allSettled(underWay.map(({ ended }) => ended));
  }
  return { done: stopped === undefined && begun === open.length, counts, stopped };
}

function checkedFile({ upload, layout }: BulkWork) {
  if (upload === undefined || layout === undefined)
    throw new Error('the format of the upload has not been checked');
  return { upload, layout };
}
