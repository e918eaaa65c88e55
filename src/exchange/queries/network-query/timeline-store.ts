import type { TimelineEntry } from '../../../contract/network-query.ts';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { columnsOf } from '../../platform/database/columns.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import type { NoteIncomplete } from '../../records/conversion/convert-documents.ts';

/** What happened in a query, for people to read; see docs/interface.md, E3. */
export interface NewTimelineEntry {
  source?: SourceType;
  attempt?: number;
  kind: string;
  /**
   * One sentence without personal data: what happened, at which source, and
   * what follows.
   */
  message: string;
  /**
   * Entries of a query with the same key are written once, however often their
   * step runs.
   */
  onceKey?: string;
  /** True when the patient's record is incomplete because of it. */
  isGap?: boolean;
}

/** Appends entries to the timeline of a query, in the caller's transaction. */
export async function addToTimeline(
  tx: AccountTx,
  queryId: string,
  ...entries: NewTimelineEntry[]
): Promise<void> {
  if (entries.length === 0) return;
  await tx.db.later
    .insertInto('network_query_timeline')
    .values(
      entries.map(({ isGap = false, ...entry }) =>
        columnsOf({ ...entry, queryId, accountId: tx.accountId, isGap }),
      ),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** An entry about the attempt of a step. */
export type StepEntry = Omit<NewTimelineEntry, 'source' | 'attempt'>;

/** Appends an entry about the attempt of a step. */
export const addOfStep = (
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
  entry: StepEntry,
): Promise<void> => addToTimeline(tx, requestId, { source, attempt, ...entry });

/**
 * Says in the timeline of a query, if it still exists, that something it
 * delivered is not in the record.
 */
export const noteIncomplete: NoteIncomplete = async (
  tx,
  queryId,
  source,
  message,
) => {
  const query = await tx.db
    .selectFrom('network_query')
    .select('id')
    .where('id', '=', queryId)
    .executeTakeFirst();
  if (query !== undefined)
    await addToTimeline(tx, queryId, { source, kind: 'incomplete', message });
};

/**
 * Adds an entry, or replaces the message of the entry with its key, so that a
 * long wait stays one entry.
 */
export async function replaceOfStep(
  tx: AccountTx,
  step: SourceStepInput,
  entry: StepEntry & { onceKey: string },
): Promise<void> {
  await addOfStep(tx, step, entry);
  await tx.db.later
    .updateTable('network_query_timeline')
    .set({ message: entry.message })
    .where(({ and }) =>
      and({ query_id: step.requestId, once_key: entry.onceKey }),
    )
    .execute();
}

/** The timeline of a query, oldest entry first. */
export async function readTimeline(
  tx: AccountTx,
  queryId: string,
): Promise<TimelineEntry[]> {
  const rows = await tx.db
    .selectFrom('network_query_timeline')
    .select(['at', 'source', 'attempt', 'kind', 'message'])
    .where('query_id', '=', queryId)
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    at: row.at.toISOString(),
    source: row.source ?? undefined,
    attempt: row.attempt ?? undefined,
    kind: row.kind,
    message: row.message,
  }));
}
