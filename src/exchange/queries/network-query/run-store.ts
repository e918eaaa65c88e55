import { sql } from 'kysely';
import type { SourceType } from '../../../contract/source-types.ts';
import { externalIdOf } from '../../people/patients/patient-store.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';
import { IN_SOURCE_ORDER, type NewQuery } from './query-store.ts';

/** The newest run of a query; `run` is -1 when no source could start. */
export async function latestRun(
  tx: AccountTx,
  queryId: string,
): Promise<{ run: number; endedAt: Date | null }> {
  const row = await tx.db
    .selectFrom('network_query_run')
    .select(['run', 'ended_at'])
    .where('query_id', '=', queryId)
    .orderBy('run', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row === undefined ? { run: -1, endedAt: new Date(0) } : { run: row.run, endedAt: row.ended_at };
}

/** A source of a run, with the numbers of the run's newest attempt, from which its workflow goes on, and of its first one. */
export interface RunSource {
  source: SourceType;
  attempt: number;
  firstAttempt: number;
}

/** Whom a query is about, for its page in the Temporal UI. */
export interface QuerySubject {
  patientId: string;
  externalId: string | null;
  /** Names of the patient's cohorts. */
  cohorts: string[];
}

/** The input of a run's workflow, and whom it is about. A run that a redrive began has the origin `bulk`. */
export async function readRun(
  tx: AccountTx,
  queryId: string,
  run: number,
): Promise<{ origin: NewQuery['origin']; subject: QuerySubject; sources: RunSource[] }> {
  const query = await tx.db
    .selectFrom('network_query as q')
    .innerJoin('network_query_run as r', 'r.query_id', 'q.id')
    .select(['q.origin', 'q.patient_id', 'r.redrive_id'])
    .select(externalIdOf('q.patient_id'))
    .where('q.id', '=', queryId)
    .where('r.run', '=', run)
    .executeTakeFirstOrThrow();
  const attempts = await tx.db
    .selectFrom('network_query_attempt')
    .select('source')
    .select(({ fn }) => [
      fn.max<number>('attempt').as('attempt'),
      fn.min<number>('attempt').as('firstAttempt'),
    ])
    .where('query_id', '=', queryId)
    .where('run', '=', run)
    .groupBy('source')
    .orderBy(IN_SOURCE_ORDER)
    .execute();
  const subject = {
    patientId: query.patient_id,
    externalId: query.external_id,
    cohorts: await readCohortNames(tx, query.patient_id),
  };
  const origin = query.redrive_id === null ? query.origin : 'bulk';
  return { origin, subject, sources: attempts };
}

const COHORT_NAMES_MAX = 10;

async function readCohortNames(tx: AccountTx, patientId: string): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('cohort_member')
    .innerJoin('cohort', 'cohort.id', 'cohort_member.cohort_id')
    .select('cohort.name')
    .where('cohort_member.patient_id', '=', patientId)
    .orderBy('cohort.name')
    .limit(COHORT_NAMES_MAX)
    .execute();
  return rows.map(({ name }) => name);
}

/** Runs, as rows with a workflow. */
export const runRows = workflowRows<{ requestId: string; run: number }>({
  table: 'network_query_run',
  ids: { requestId: 'query_id', run: 'run' },
  since: 'requested_at',
  open: sql`ended_at is null`,
});
export const runsToEnsure = runRows.toEnsure;

/** Attempts of a run that are running or waiting for a retry. */
export async function openAttemptsOfRun(
  tx: AccountTx,
  requestId: string,
  run: number,
): Promise<{ source: SourceType; attempt: number }[]> {
  return tx.db
    .selectFrom('network_query_attempt')
    .select(['source', 'attempt'])
    .where('query_id', '=', requestId)
    .where('run', '=', run)
    .where(({ eb, or }) => or([eb('status', '=', 'running'), eb('will_retry', '=', true)]))
    .execute();
}
