import { sql } from 'kysely';
import type { AccountSettings } from '../../accounts/tables.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';

export interface StoredFollowUp {
  notificationId: string;
  patientId: string;
  state: 'open' | 'new-data' | 'no-new-data' | 'cancelled';
  reason: string | null;
  /** Rounds that were made, whether a query was started in them or not. */
  rounds: number;
  queryIds: string[];
  startedAt: Date;
}

/** Opens the follow-up of a discharge; one that is open for an earlier discharge of the patient ends. Returns its id. */
export async function openFollowUp(
  tx: AccountTx,
  of: { notificationId: string; patientId: string },
): Promise<string[]> {
  // Two discharges of one patient that come at once take turns.
  await tx.db.selectFrom('patient').select('id').where('id', '=', of.patientId).forNoKeyUpdate().execute();
  const ended = await tx.db
    .updateTable('discharge_follow_up')
    .set({ state: 'cancelled', reason: 'A later discharge is followed up instead', ended_at: new Date() })
    .where('patient_id', '=', of.patientId)
    .where('state', '=', 'open')
    .returning('notification_id')
    .execute();
  await tx.db
    .insertInto('discharge_follow_up')
    .values({ notification_id: of.notificationId, account_id: tx.accountId, patient_id: of.patientId })
    .execute();
  return ended.map((row) => row.notification_id);
}

/** Held until the transaction ends. Undefined when the patient, and with it the follow-up, is gone. */
export async function lockFollowUp(
  tx: AccountTx,
  notificationId: string,
): Promise<StoredFollowUp | undefined> {
  const row = await tx.db
    .selectFrom('discharge_follow_up')
    .selectAll()
    .where('notification_id', '=', notificationId)
    .forUpdate()
    .executeTakeFirst();
  return (
    row && {
      notificationId: row.notification_id,
      patientId: row.patient_id,
      state: row.state,
      reason: row.reason,
      rounds: row.rounds,
      queryIds: row.query_ids,
      startedAt: row.started_at,
    }
  );
}

export async function noteRound(
  tx: AccountTx,
  notificationId: string,
  round: number,
  queryId: string | undefined,
): Promise<void> {
  await tx.db
    .updateTable('discharge_follow_up')
    .set({ rounds: round })
    .$if(queryId !== undefined, (update) =>
      update.set({ query_ids: sql<string[]>`query_ids || ${queryId ?? null}::uuid` }),
    )
    .where('notification_id', '=', notificationId)
    .execute();
}

/** Ends those that are open; returns their ids. */
export async function endFollowUps(
  tx: AccountTx,
  notificationIds: readonly string[],
  state: 'new-data' | 'no-new-data' | 'cancelled',
  reason: string,
): Promise<string[]> {
  if (notificationIds.length === 0) return [];
  const rows = await tx.db
    .updateTable('discharge_follow_up')
    .set({ state, reason, ended_at: new Date() })
    .where('notification_id', 'in', [...notificationIds])
    .where('state', '=', 'open')
    .returning('notification_id')
    .execute();
  return rows.map((row) => row.notification_id);
}

/** Which of these queries still run, and how many resources they brought that were not known so before. */
export async function outcomeOfQueries(
  tx: AccountTx,
  queryIds: readonly string[],
): Promise<{ running: number; newResources: number }> {
  if (queryIds.length === 0) return { running: 0, newResources: 0 };
  // A resource names the document of the query that brought it, or its present content, first.
  const { rows } = await sql<{ running: number; resources: number }>`
    select
      (select count(*) from network_query where id = any(${[...queryIds]}::uuid[]) and status = 'running') as running,
      (select count(*) from patient_resource r join document d on d.id = r.document_id
       where d.query_id = any(${[...queryIds]}::uuid[])) as resources
  `.execute(tx.db);
  return { running: rows[0]?.running ?? 0, newResources: rows[0]?.resources ?? 0 };
}

/** When an open follow-up began; undefined when it has ended or is gone. */
export async function readFollowUpStart(tx: AccountTx, notificationId: string): Promise<Date | undefined> {
  const row = await tx.db
    .selectFrom('discharge_follow_up')
    .select('started_at')
    .where('notification_id', '=', notificationId)
    .where('state', '=', 'open')
    .executeTakeFirst();
  return row?.started_at;
}

export async function markFollowUpStarted(tx: AccountTx, notificationId: string): Promise<void> {
  await tx.db
    .updateTable('discharge_follow_up')
    .set({ workflow_started_at: new Date() })
    .where('notification_id', '=', notificationId)
    .execute();
}

/** How long a started workflow is trusted to be there before it is looked for again. */
const LOOK_AGAIN_MS = 60 * 60_000;

/** Open follow-ups whose workflow nobody started, or so long ago that it is worth making sure; over all accounts. */
export async function followUpsToEnsure(
  tx: SystemTx,
  options: { olderThanMs: number; limit: number },
): Promise<{ accountId: string; notificationId: string }[]> {
  const now = Date.now();
  const rows = await tx.db
    .selectFrom('discharge_follow_up')
    .select(['account_id', 'notification_id'])
    .where('state', '=', 'open')
    .where(({ and, eb, or }) =>
      or([
        and([
          eb('workflow_started_at', 'is', null),
          eb('started_at', '<', new Date(now - options.olderThanMs)),
        ]),
        eb('workflow_started_at', '<', new Date(now - LOOK_AGAIN_MS)),
      ]),
    )
    .orderBy('started_at')
    .limit(options.limit)
    .execute();
  return rows.map((row) => ({ accountId: row.account_id, notificationId: row.notification_id }));
}

/** What decides whether a source may be asked about a patient. */
export async function readAskable(
  tx: AccountTx,
  patientId: string,
): Promise<
  { account: { settings: AccountSettings }; patient: { id: string; hieOptOut: boolean } } | undefined
> {
  const row = await tx.db
    .selectFrom('patient as p')
    .innerJoin('account as a', 'a.id', 'p.account_id')
    .select(['a.settings', 'p.id', 'p.hie_opt_out'])
    .where('p.id', '=', patientId)
    .executeTakeFirst();
  return row && { account: { settings: row.settings }, patient: { id: row.id, hieOptOut: row.hie_opt_out } };
}
