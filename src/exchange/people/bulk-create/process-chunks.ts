import { createRowReader } from '../../../shared/bulk-csv/row-reader.ts';
import { areCallersServed } from '../../platform/database/callers.ts';
import { type BulkWork, listOpenChunks, readBulkWork } from './chunk-store.ts';
import { beginTurn, type ChunkTurn } from './chunk-turn.ts';
import type { BulkEngineDeps, ProcessOptions, ProcessOutcome } from './engine-steps.ts';
import { prepareChunk } from './prepare-chunk.ts';

/**
 * Transactions in parallel: one commits, one writes, one looks up its patients. A fourth chunk is read meanwhile. While callers
 * are served it is one, so that the import takes fewer processors at a time (decision 146).
 */
const TURNS_AT_ONCE = 3;

/**
 * Processes the open chunks of a request in file order, so that the later of two rows about one person always finds the
 * earlier row's patient. After an interruption the next call continues after the last committed chunk.
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
  const reader = { ...deps, upload, readRow: createRowReader(layout), layout, accountId };
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
      const turns = underWay.length > 0 && (await areCallersServed(deps.store)) ? 1 : TURNS_AT_ONCE;
      while (underWay.length >= turns) await awaitFirst();
      if (stopped !== undefined) break;
      underWay.push(beginTurn(deps, job, prepared, [...underWay]));
      begun += 1;
    }
    while (underWay.length > 0) await awaitFirst();
  } finally {
    // Let no transaction outlive this call.
    await Promise.allSettled(underWay.map(({ ended }) => ended));
  }
  return { done: stopped === undefined && begun === open.length, counts, stopped };
}

function checkedFile({ upload, layout }: BulkWork) {
  if (upload === undefined || layout === undefined)
    throw new Error('The format of the upload has not been checked');
  return { upload, layout };
}
