import { type RawBuilder, sql } from 'kysely';
import type { SourceStepInput } from '../../../contract/network-query-workflow.ts';
import type {
  AccountTx,
  Store,
  SystemTx,
} from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import {
  itemRecovery,
  type Recovery,
} from '../../platform/recovery/recovery.ts';
import {
  type Connectors,
  connectorFor,
} from '../../sources/connections/connections.ts';
import type { PartStep } from './attempt-store.ts';

const KEEP_OPEN_JOBS = sqlFile('keep-open-jobs.sql', import.meta.url);

/**
 * A job that a source still works on, although its result will not be
 * collected. Kept until it is cancelled there.
 */
type AbandonedJob = Awaited<ReturnType<typeof abandonedJobsOf>>[number];

/**
 * The step that abandoned a job cancels it within this time, unless its worker
 * is killed.
 */
const GRACE = sql`interval '30 seconds'`;
const TRIED_EVERY = sql`interval '10 minutes'`;
const KEPT_FOR = sql`interval '1 day'`;

/** Keeps the jobs of a patient's queries, which are about to be deleted. */
export const keepJobsOfPatient = (
  tx: AccountTx,
  patientId: string,
): Promise<void> =>
  keepOpenJobs(
    tx,
    sql`query_id in (select id from network_query where patient_id = ${patientId})`,
  );

/** Keeps the jobs of an attempt, which is about to end. */
export const keepJobsOfAttempt = (
  tx: AccountTx,
  { requestId, source, attempt }: SourceStepInput,
): Promise<void> =>
  keepOpenJobs(
    tx,
    sql`query_id = ${requestId} and source = ${source} and attempt = ${attempt}`,
  );

/**
 * Locks the attempts: a step that wants to store its job after this finds no
 * attempt that is running, and cancels the job itself.
 */
async function keepOpenJobs(
  tx: AccountTx,
  which: RawBuilder<unknown>,
): Promise<void> {
  await KEEP_OPEN_JOBS({ which, accountId: tx.accountId }).execute(tx.db);
}

/**
 * Keeps a job that was accepted when its attempt had ended, or had another job.
 */
export async function keepSurplusJob(
  tx: AccountTx,
  step: PartStep,
  { purpose, job }: Pick<AbandonedJob, 'purpose' | 'job'>,
): Promise<void> {
  await tx.db
    .insertInto('abandoned_job')
    .values({
      account_id: tx.accountId,
      query_id: step.requestId,
      source: step.source,
      attempt: step.attempt,
      connection_id: step.part.id,
      purpose_of_use: purpose,
      job: JSON.stringify(job),
    })
    .execute();
}

/** The jobs that an attempt left behind. */
async function abandonedJobsOf(tx: AccountTx, step: SourceStepInput) {
  return selectJobs(tx)
    .where(({ and }) =>
      and({
        query_id: step.requestId,
        source: step.source,
        attempt: step.attempt,
      }),
    )
    .execute();
}

/**
 * Jobs of all accounts that no step has cancelled and that were not tried
 * lately, those never tried first.
 */
async function jobsToCancel(
  tx: SystemTx,
  limit: number,
): Promise<AbandonedJob[]> {
  return selectJobs(tx)
    .where(({ or, and, eb }) =>
      or([
        and([
          eb('tried_at', 'is', null),
          eb('noted_at', '<', sql<Date>`now() - ${GRACE}`),
        ]),
        eb('tried_at', '<', sql<Date>`now() - ${TRIED_EVERY}`),
      ]),
    )
    .orderBy('tried_at', (order) => order.asc().nullsFirst())
    .orderBy('noted_at')
    .limit(limit)
    .execute();
}

/** Notes that the source did not acknowledge the cancellation. */
async function noteFailedTry(tx: AccountTx, id: string): Promise<void> {
  await tx.db
    .updateTable('abandoned_job')
    .set({ tried_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

async function removeAbandonedJob(tx: AccountTx, id: string): Promise<void> {
  await tx.db.deleteFrom('abandoned_job').where('id', '=', id).execute();
}

/**
 * Removes jobs that could not be cancelled for a day. The source expires them
 * by itself.
 */
export async function deleteOldAbandonedJobs(
  tx: SystemTx,
  limit: number,
): Promise<number> {
  const { rows } = await sql`
    delete from abandoned_job where id in (
      select id from abandoned_job where noted_at < now() - ${KEPT_FOR} order by noted_at limit ${limit}
    ) returning id
  `.execute(tx.db);
  return rows.length;
}

const selectJobs = ({ db }: AccountTx | SystemTx) =>
  db
    .selectFrom('abandoned_job')
    .select([
      'id',
      'account_id as accountId',
      'source',
      'connection_id as connectionId',
      'job',
    ])
    .select(['purpose_of_use as purpose', 'noted_at as since']);

export interface JobCancellation extends Connectors {
  store: Pick<Store, 'asAccount'>;
}

/** How long to wait for a source to acknowledge a cancellation. */
export const CANCEL_TIMEOUT_MS = 5_000;
const JOBS_PER_ROUND = 20;
/**
 * Concurrent cancellations, because a source that does not answer takes the
 * whole time.
 */
const AT_ONCE = 10;

/**
 * Cancels what an attempt left at its source. A job is forgotten once the
 * source has acknowledged that, so that the others are taken up by
 * `abandonedJobCancellation`. Safe to repeat: a source that no longer knows a
 * job acknowledges, too.
 */
export async function cancelJobsOf(
  deps: JobCancellation,
  step: SourceStepInput,
): Promise<void> {
  const jobs = await deps.store.asAccount(step.accountId, (tx) =>
    abandonedJobsOf(tx, step),
  );
  await Promise.all(jobs.map((job) => cancel(deps, job)));
}

/**
 * Cancels the jobs whose step was killed before it did, or whose source was
 * down.
 */
export const abandonedJobCancellation = (
  deps: JobCancellation & { store: Pick<Store, 'asAccount' | 'asSystem'> },
): Recovery =>
  itemRecovery({
    name: 'jobs left at sources',
    limit: JOBS_PER_ROUND,
    atOnce: AT_ONCE,
    find: (limit) => deps.store.asSystem((tx) => jobsToCancel(tx, limit)),
    heal: (job) => cancel(deps, job),
  });

/** Returns whether the source has acknowledged the cancellation. */
async function cancel(
  deps: JobCancellation,
  of: AbandonedJob,
): Promise<boolean> {
  const isAcknowledged = await connectorFor(deps, of)
    .then((connector) =>
      connector.cancel(of.job, AbortSignal.timeout(CANCEL_TIMEOUT_MS)),
    )
    .then(
      () => true,
      () => false,
    );
  await deps.store.asAccount(of.accountId, (tx) =>
    isAcknowledged ? removeAbandonedJob(tx, of.id) : noteFailedTry(tx, of.id),
  );
  return isAcknowledged;
}
