import type { TimelineEntry } from '../../contract/network-query.ts';
import type { SourceType } from '../../contract/primitives.ts';
import type { AccountTx } from '../platform/database/database.ts';

export interface NewTimelineEntry {
  source?: SourceType;
  attempt?: number;
  kind: string;
  /** For people; no personal data. */
  message: string;
  /** Told at most once, however often the step that tells it runs. */
  onceKey?: string;
}

export async function tell(tx: AccountTx, queryId: string, ...entries: NewTimelineEntry[]): Promise<void> {
  if (entries.length === 0) return;
  await tx.db
    .insertInto('network_query_timeline')
    .values(
      entries.map((entry) => ({
        query_id: queryId,
        account_id: tx.accountId,
        source: entry.source ?? null,
        attempt: entry.attempt ?? null,
        kind: entry.kind,
        message: entry.message,
        once_key: entry.onceKey ?? null,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function readTimeline(tx: AccountTx, queryId: string): Promise<TimelineEntry[]> {
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
