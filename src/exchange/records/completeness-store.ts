import { sql } from 'kysely';
import { type RecordSource, SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';
import type { AccountTx } from '../platform/database/database.ts';

/** `waiting`: its last attempt failed, and a further one is due. */
export type SourceState = 'never-asked' | 'running' | 'waiting' | 'completed' | 'failed';

/** How far a source has been asked about a patient, and what of it is in the record. */
export interface SourceStanding {
  source: RecordSource;
  /** Undefined for messages, which nobody asks for. */
  state?: SourceState;
  lastAttempted?: Date;
  lastCompleted?: Date;
  /** Why the last attempt failed. */
  reason?: string;
  resources: number;
  documents: number;
  /** What its last complete attempt could not bring, in words. */
  omissions: string[];
}

/** A document that is kept, and whose content is not in the record, or only in part. */
export interface UnreadDocument {
  source: RecordSource;
  fileName: string;
  reason: string;
}

/** Everything from which it follows whether a patient's record is complete. */
export interface RecordStanding {
  readAt: Date;
  /** Every source that can be asked, then messages if there were any. */
  sources: SourceStanding[];
  unread: UnreadDocument[];
}

export async function readRecordStanding(tx: AccountTx, patientId: string): Promise<RecordStanding> {
  const [asked, refused, kept] = [
    await readAsked(tx, patientId),
    await readRefused(tx, patientId),
    await countKept(tx, patientId),
  ];
  const countsOf = (source: RecordSource) => {
    const { resources = 0, documents = 0 } = kept.get(source) ?? {};
    return { resources, documents };
  };
  const sources = SOURCE_TYPES.map((source): SourceStanding => {
    const { omissions, ...last }: Asked = asked.get(source) ?? { state: 'never-asked', omissions: [] };
    const refusal = refused.get(source);
    const isNewer = refusal !== undefined && (last.lastAttempted ?? new Date(0)) < refusal.lastAttempted;
    const isAtWork = last.state === 'running' || last.state === 'waiting';
    return {
      source,
      ...countsOf(source),
      ...last,
      ...(isNewer && !isAtWork ? { state: 'failed' as const, ...refusal } : {}),
      omissions,
    };
  });
  const message = kept.has('message')
    ? [{ source: 'message' as const, ...countsOf('message'), omissions: [] }]
    : [];
  return { readAt: new Date(), sources: [...sources, ...message], unread: await readUnread(tx, patientId) };
}

type Asked = Pick<SourceStanding, 'state' | 'lastAttempted' | 'lastCompleted' | 'reason' | 'omissions'>;

/** A source may be asked by several queries at a time: while any of them runs, it is not done. */
async function readAsked(tx: AccountTx, patientId: string): Promise<Map<SourceType, Asked>> {
  const { rows } = await sql<{
    source: SourceType;
    state: SourceState;
    reason: string | null;
    lastAttempted: Date;
    lastCompleted: Date | null;
    omissions: string[] | null;
  }>`
    with attempts as (
      select a.* from network_query_attempt a join network_query q on q.id = a.query_id
      where q.patient_id = ${patientId}
    ), complete as (
      select distinct on (source) source, query_id, attempt, completed_at from attempts
      where status = 'completed' order by source, completed_at desc, attempt desc
    )
    select l.source, l.reason, l.last_attempted as "lastAttempted", c.completed_at as "lastCompleted",
      case when l.runs then 'running' when l.waits then 'waiting' else l.status end as state,
      (select array_agg(t.message order by t.id) from network_query_timeline t
        where t.query_id = c.query_id and t.source = c.source and t.attempt = c.attempt and t.kind = 'incomplete'
          -- The message decides only for entries that versions before migration 0030 wrote.
          and coalesce(t.is_gap, t.message ~ 'could not be fetched|errors of its own')) as omissions
    from (
      select source, bool_or(status = 'running') as runs, bool_or(will_retry) as waits,
        max(started_at) as last_attempted,
        (array_agg(status order by started_at desc, attempt desc))[1] as status,
        (array_agg(reason order by started_at desc, attempt desc))[1] as reason
      from attempts group by source
    ) l left join complete c on c.source = l.source`.execute(tx.db);
  return new Map(
    rows.map(({ source, reason, lastCompleted, omissions, ...row }) => [
      source,
      {
        ...row,
        reason: row.state === 'completed' ? undefined : (reason ?? undefined),
        lastCompleted: lastCompleted ?? undefined,
        omissions: omissions ?? [],
      },
    ]),
  );
}

/** Sources that could not even be started, each the last time. */
async function readRefused(
  tx: AccountTx,
  patientId: string,
): Promise<Map<SourceType, { lastAttempted: Date; reason: string }>> {
  const { rows } = await sql<{ source: SourceType; reason: string; lastAttempted: Date }>`
    select distinct on (e.source) e.source, e.message as reason, q.started_at as "lastAttempted"
    from network_query q
    cross join lateral jsonb_to_recordset(q.start_errors) as e(source text, message text)
    where q.patient_id = ${patientId}
    order by e.source, q.started_at desc`.execute(tx.db);
  return new Map(rows.map(({ source, ...refusal }) => [source, refusal]));
}

async function countKept(
  tx: AccountTx,
  patientId: string,
): Promise<Map<RecordSource, { resources: number; documents: number }>> {
  const { rows } = await sql<{ source: RecordSource; resources: number; documents: number }>`
    select source, sum(resources)::int as resources, sum(documents)::int as documents from (
      select source, count(*) as resources, 0 as documents from patient_resource
      where patient_id = ${patientId} group by source
      union all
      select source, 0, count(distinct coalesce(source_document_id, encode(sha256, 'hex'))) from document
      where patient_id = ${patientId} and kind = 'attachment' group by source
    ) as counts group by source`.execute(tx.db);
  return new Map(rows.map(({ source, ...counts }) => [source, counts]));
}

/** Of each document what its newest delivery is; a delivery of the same bytes as before has the outcome of those. */
async function readUnread(tx: AccountTx, patientId: string): Promise<UnreadDocument[]> {
  const { rows } = await sql<UnreadDocument>`
    select distinct on (d.source, d.source_document_id, d.sha256) d.source, d.file_name as "fileName",
      coalesce(c.reason, 'its content could not be read') as reason
    from (
      select *, coalesce(query_id, message_id) as brought_by,
        first_value(coalesce(query_id, message_id)) over (
          partition by source, source_document_id order by created_at desc, id desc) as brought_last_by
      from document where patient_id = ${patientId} and kind = 'attachment' and source_document_id is not null
    ) d
    join document same on same.patient_id = d.patient_id and same.source = d.source
      and same.source_document_id = d.source_document_id and same.sha256 = d.sha256
    join document_conversion c on c.document_id = same.id
    where d.brought_by = d.brought_last_by
      and (c.outcome in ('skipped', 'failed') or c.outcome = 'converted' and c.reason <> 'as before')
    order by d.source, d.source_document_id, d.sha256, d.created_at desc`.execute(tx.db);
  return rows;
}
