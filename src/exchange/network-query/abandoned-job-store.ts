import { sql } from 'kysely';
import type { SourceStepInput } from '../../contract/network-query-steps.ts';
import type { AccountTx, SystemTx } from '../platform/database/database.ts';
import type { JobHandle } from '../sources/connector.ts';
import type { PurposeOfUse } from '../sources/source-config.ts';

/** A job that a source was still working on when its query was deleted with the patient. */
export interface AbandonedJob {
  /** Null: the one connection of the environment variables. */
  connectionId: string | null;
  purpose: PurposeOfUse;
  job: JobHandle;
}

const KEPT_FOR = sql`interval '1 day'`;

/**
 * Keeps the jobs of a patient's queries, which are about to be deleted, until they are cancelled at the sources. Locks the
 * attempts: a step that wants to store its job after this finds no attempt, and cancels the job itself.
 */
export async function keepOpenJobs(tx: AccountTx, patientId: string): Promise<void> {
  await sql`
    with query as (select id, purpose_of_use from network_query where patient_id = ${patientId}),
    attempt as (
      select query_id, source, attempt, null::uuid as connection_id, job from network_query_attempt
      where query_id in (select id from query) and status = 'running' for update),
    part as (
      select query_id, source, attempt, connection_id, job from network_query_part
      where query_id in (select id from query) and status = 'running' for update)
    insert into abandoned_job (account_id, query_id, source, attempt, connection_id, purpose_of_use, job)
    select ${tx.accountId}, query_id, source, attempt, connection_id, purpose_of_use, job
    from (select * from attempt union all select * from part) as open join query on query.id = open.query_id
    where job is not null
  `.execute(tx.db);
}

/** The jobs of an attempt that was deleted with its patient; removes them, because each is cancelled once. */
export async function takeAbandonedJobs(tx: AccountTx, step: SourceStepInput): Promise<AbandonedJob[]> {
  const rows = await tx.db
    .deleteFrom('abandoned_job')
    .where('query_id', '=', step.requestId)
    .where('source', '=', step.source)
    .where('attempt', '=', step.attempt)
    .returning(['connection_id', 'purpose_of_use', 'job'])
    .execute();
  return rows.map((row) => ({
    connectionId: row.connection_id,
    purpose: row.purpose_of_use,
    job: row.job,
  }));
}

/** Removes jobs whose query never came to cancel them. The source expires them by itself. */
export async function deleteOldAbandonedJobs(tx: SystemTx, limit: number): Promise<number> {
  const { rows } = await sql`
    delete from abandoned_job where id in (
      select id from abandoned_job where noted_at < now() - ${KEPT_FOR} order by noted_at limit ${limit}
    ) returning id
  `.execute(tx.db);
  return rows.length;
}
