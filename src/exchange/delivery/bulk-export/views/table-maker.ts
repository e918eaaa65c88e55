import { createHmac } from 'node:crypto';
import { ViewError } from '#sql-on-fhir';
import { createFairThreads } from '../../../../lib/job-thread.ts';
import type { Store } from '../../../platform/database/database.ts';
import { readLeftPatients, type StoredExport } from '../export-store.ts';
import type { SliceFile, SliceTexts } from '../rules/files.ts';
import type { ViewPlan } from '../rules/view-run.ts';
import type { TableAnswer, TableJob } from './view-thread.ts';

/**
 * Makes the files of a slice from its lines. Throws ViewError when the
 * definitions do not fit the records.
 */
export type TableMaker = (
  row: StoredExport & { view_plan: ViewPlan },
  texts: readonly SliceTexts[],
  isLast: boolean,
) => Promise<SliceFile[]>;

const THREAD = new URL('./view-thread.ts', import.meta.url);
const LIMITS = { heapMb: 512, timeoutMs: 60_000, idleMs: 30_000 };
/** The slots of activities bound the waiting. */
const waiting = Number.POSITIVE_INFINITY;
const ofOneWaiting = Number.POSITIVE_INFINITY;
const QUEUE = { atOnce: 2, ofOneAtOnce: 1, waiting, ofOneWaiting };

/**
 * The tables are made in a thread with limits: a definition is its author's,
 * and may take any time and memory.
 */
export function createTableMaker(
  { store, idHmacKey }: { store: Pick<Store, 'asAccount'>; idHmacKey: string },
  limits = LIMITS,
): TableMaker {
  const threads = createFairThreads<TableJob, TableAnswer>(
    THREAD,
    limits,
    QUEUE,
  );
  return async (row, texts, isLast) => {
    const { account_id: accountId, view_plan: plan } = row;
    const left = isLast
      ? await store.asAccount(accountId, (tx) => readLeftPatients(tx, row))
      : [];
    const key = createHmac('sha256', idHmacKey)
      .update(`pseudonyms of ${accountId}`)
      .digest();
    const end = await threads.run(accountId, async () => ({
      plan,
      texts,
      isFirst: row.slices === 0,
      left: row.since === null ? undefined : left,
      safeHarbor: plan.isDeidentified
        ? { key, year: row.created_at.getUTCFullYear() }
        : undefined,
    }));
    if (end.kind === 'answered') {
      if ('files' in end.answer) return end.answer.files;
      throw new ViewError(end.answer.fault);
    }
    if (end.isStarved)
      throw new Error('The machine had no time for the tables');
    throw new ViewError(
      `The views are too expensive for the records (${end.reason}); select less`,
    );
  };
}
