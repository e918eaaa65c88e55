import { type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import {
  type AccountTx,
  type SystemTx,
  takeAdminRole,
} from '../../platform/database/database.ts';
import type { Database } from '../../platform/database/schema.ts';

export type StoredLegalHold = Selectable<Database['legal_hold']>;

/**
 * For removals by age: the patient of a row of this table, in its column
 * `patient_id`, is under no legal hold.
 */
export const isNotOnLegalHold = (table: keyof Database) =>
  sql<boolean>`not exists (
    select from legal_hold hold where hold.patient_id = ${sql.ref(`${table}.patient_id`)})`;

/** Whether the patient is under at least one legal hold. */
export async function isOnLegalHold(
  tx: AccountTx,
  patientId: string,
): Promise<boolean> {
  const hold = await tx.db
    .selectFrom('legal_hold')
    .select('id')
    .where('patient_id', '=', patientId)
    .limit(1)
    .executeTakeFirst();
  return hold !== undefined;
}

/**
 * Places a hold; returns undefined if the account has no such patient. A
 * deletion of the patient at the same time either comes first, so that the
 * patient is not found, or waits and is refused.
 */
export async function placeLegalHold(
  tx: SystemTx,
  hold: { accountId: string; patientId: string; by: string; reason: string },
): Promise<StoredLegalHold | undefined> {
  await takeAdminRole(tx);
  const patient = await tx.db
    .selectFrom('patient')
    .select(['id', 'account_id'])
    .where('account_id', '=', hold.accountId)
    .where(sql<string>`id::text`, '=', hold.patientId.toLowerCase())
    .forKeyShare()
    .executeTakeFirst();
  if (patient === undefined) return undefined;
  return tx.db
    .insertInto('legal_hold')
    .values({
      id: uuidv7(),
      account_id: patient.account_id,
      patient_id: patient.id,
      placed_by: hold.by,
      reason: hold.reason,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** Removes a hold and returns it; undefined if there is none with this id. */
export async function liftLegalHold(
  tx: SystemTx,
  id: string,
): Promise<StoredLegalHold | undefined> {
  await takeAdminRole(tx);
  return tx.db
    .deleteFrom('legal_hold')
    .where(sql<string>`id::text`, '=', id.toLowerCase())
    .returningAll()
    .executeTakeFirst();
}

/** The holds of an account, oldest first. */
export const listLegalHolds = (
  tx: SystemTx,
  accountId: string,
): Promise<StoredLegalHold[]> =>
  tx.db
    .selectFrom('legal_hold')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('placed_at')
    .orderBy('id')
    .execute();
