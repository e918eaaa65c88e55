import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import type { OpenWork, WorkKind } from './report.ts';

/** The process that accepted the work has this long to start its workflow, then `reconcile` does it within its interval. */
const START_GRACE = sql`interval '2 minutes'`;

const NOT_STARTED = sql`count(*) filter (where workflow_started_at is null and`;

/** Open work of all accounts by kind. Each line uses an index that contains open rows only, or a table with few rows. */
export async function readOpenWork(tx: SystemTx): Promise<OpenWork[]> {
  const { rows } = await sql<{
    kind: WorkKind;
    open: number;
    notStarted: number;
    oldestSeconds: number;
  }>`
    select kind, open, "notStarted", coalesce(greatest(extract(epoch from now() - oldest), 0), 0)::float8 as "oldestSeconds"
    from (
      select 'network-query' as kind, count(*) as open, min(requested_at) as oldest,
        ${NOT_STARTED} requested_at < now() - ${START_GRACE}) as "notStarted"
      from network_query_run where ended_at is null
      union all
      select 'bulk-create', count(*), min(created_at), ${NOT_STARTED} created_at < now() - ${START_GRACE})
      from bulk_request where status = 'processing' and not paused
      union all
      select 'post-import-queries', count(*), min(b.ended_at), 0
      from bulk_sweep s join bulk_request b on b.id = s.request_id where s.ended_at is null and s.state = 'running'
      union all
      select 'consolidated-query', count(*), min(created_at), ${NOT_STARTED} created_at < now() - ${START_GRACE})
      from consolidated_query where status = 'processing'
      union all
      select 'bulk-export', count(*), min(created_at), ${NOT_STARTED} created_at < now() - ${START_GRACE})
      from bulk_export where status = 'running'
      union all
      select 'redrive', count(*), min(created_at),
        count(*) filter (where workflow_seen_at is null and created_at < now() - ${START_GRACE})
      from query_redrive where ended_at is null
      union all
      select 'outbound-message', count(*), min(sent_at), ${NOT_STARTED} sent_at < now() - ${START_GRACE})
      from message where direction = 'outbound' and status = 'processing'
      union all
      select 'record-notification', count(*), min(changed_at), 0
      from recorded_subject where wanted > recorded or to_be_read
      union all
      select 'erasure', count(*), min(noted_at), 0 from erasure
      union all
      select 'audit-sealing', count(*), min(at), 0 from audit_entry where position is null
    ) as work`.execute(tx.db);
  return rows.map((row) => ({ ...row, open: Number(row.open), notStarted: Number(row.notStarted) }));
}
