import { sql } from 'kysely';
import type { AccountSettings } from '../../../platform/account.ts';
import { type Members, membersOf } from '../../../platform/database/columns.ts';
import type { AccountTx } from '../../../platform/database/database.ts';
import { workflowRows } from '../../../platform/workflows/workflow-rows.ts';

/** `rounds`: number of rounds so far, with and without a started query. */
export type StoredFollowUp = Members<'discharge_follow_up'>;

const SUPERSEDED = 'A later discharge is followed up instead';

/**
 * Opens the follow-up of a discharge, and cancels an open one of the same
 * patient. Returns the ids of those cancelled.
 */
export async function openFollowUp(
  tx: AccountTx,
  of: { notificationId: string; patientId: string },
): Promise<string[]> {
  // The lock on the patient serializes two discharges that arrive at the same
  // time.
  await tx.db
    .selectFrom('patient')
    .select('id')
    .where('id', '=', of.patientId)
    .forNoKeyUpdate()
    .execute();
  const ended = await tx.db
    .updateTable('discharge_follow_up')
    .set({ state: 'cancelled', reason: SUPERSEDED, ended_at: sql<Date>`now()` })
    .where(({ and }) => and({ patient_id: of.patientId, state: 'open' }))
    .returning('notification_id')
    .execute();
  await tx.db
    .insertInto('discharge_follow_up')
    .values({
      notification_id: of.notificationId,
      account_id: tx.accountId,
      patient_id: of.patientId,
    })
    .execute();
  return ended.map((row) => row.notification_id);
}

/**
 * Reads a follow-up and locks it until the transaction ends. Undefined when it
 * was deleted with its patient.
 */
export async function lockFollowUp(
  tx: AccountTx,
  notificationId: string,
): Promise<StoredFollowUp | undefined> {
  const query = tx.db.selectFrom('discharge_follow_up').selectAll();
  const row = await query
    .where('notification_id', '=', notificationId)
    .forUpdate()
    .executeTakeFirst();
  return row && membersOf(row);
}

/** Records that a round was made, and the query that it started, if any. */
export async function recordRound(
  tx: AccountTx,
  notificationId: string,
  round: number,
  queryId: string | undefined,
): Promise<void> {
  await tx.db
    .updateTable('discharge_follow_up')
    .set({ rounds: round })
    .$if(queryId !== undefined, (update) =>
      update.set({
        query_ids: sql<string[]>`query_ids || ${queryId ?? null}::uuid`,
      }),
    )
    .where('notification_id', '=', notificationId)
    .execute();
}

/**
 * Ends those of the follow-ups that are open, and returns their ids. @param
 * reason shown to callers
 */
export async function endFollowUps(
  tx: AccountTx,
  notificationIds: readonly string[],
  state: 'new-data' | 'no-new-data' | 'cancelled',
  reason: string,
): Promise<string[]> {
  if (notificationIds.length === 0) return [];
  const rows = await tx.db
    .updateTable('discharge_follow_up')
    .set({ state, reason, ended_at: sql<Date>`now()` })
    .where('notification_id', 'in', [...notificationIds])
    .where('state', '=', 'open')
    .returning('notification_id')
    .execute();
  return rows.map((row) => row.notification_id);
}

/**
 * How many of these queries still run, and how many new or changed resources
 * they brought.
 */
export async function outcomeOfQueries(
  tx: AccountTx,
  queryIds: readonly string[],
): Promise<{ running: number; newResources: number }> {
  if (queryIds.length === 0) return { running: 0, newResources: 0 };
  // A resource refers to the document that first delivered its present content,
  // and the document to its query.
  const { rows } = await sql<{ running: number; resources: number }>`
    select
      (select count(*) from network_query where id = any(${[...queryIds]}::uuid[]) and status = 'running') as running,
      (select count(*) from patient_resource r join document d on d.id = r.document_id
       where d.query_id = any(${[...queryIds]}::uuid[])) as resources
  `.execute(tx.db);
  return {
    running: rows[0]?.running ?? 0,
    newResources: rows[0]?.resources ?? 0,
  };
}

/** When an open follow-up began; undefined when it has ended or was deleted. */
export async function readFollowUpStart(
  tx: AccountTx,
  notificationId: string,
): Promise<Date | undefined> {
  const row = await tx.db
    .selectFrom('discharge_follow_up')
    .select('started_at')
    .where(({ and }) => and({ notification_id: notificationId, state: 'open' }))
    .executeTakeFirst();
  return row?.started_at;
}

/** Follow-ups, as rows with a workflow. */
export const followUpRows = workflowRows<{ notificationId: string }>({
  table: 'discharge_follow_up',
  ids: { notificationId: 'notification_id' },
  since: 'started_at',
  open: sql`state = 'open'`,
});

/**
 * The facts that decide whether a source may be asked about a patient
 * (`refusal`); undefined when the patient was deleted.
 */
export async function readQueryPermission(
  tx: AccountTx,
  patientId: string,
): Promise<
  | {
      account: { settings: AccountSettings };
      patient: { id: string; hieOptOut: boolean };
    }
  | undefined
> {
  const row = await tx.db
    .selectFrom('patient as p')
    .innerJoin('account as a', 'a.id', 'p.account_id')
    .select(['a.settings', 'p.id', 'p.hie_opt_out'])
    .where('p.id', '=', patientId)
    .executeTakeFirst();
  return (
    row && {
      account: { settings: row.settings },
      patient: { id: row.id, hieOptOut: row.hie_opt_out },
    }
  );
}
