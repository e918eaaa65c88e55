import type { AccountTx } from '../../platform/database/database.ts';
import type { DeliveryPlace } from './merge-store.ts';

export async function insertSplit(tx: AccountTx, patientId: string, place: DeliveryPlace): Promise<void> {
  await tx.db
    .insertInto('record_split')
    .values({
      account_id: tx.accountId,
      patient_id: patientId,
      source: place.source,
      resource_type: place.resourceType,
      source_id: place.sourceId,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

export async function deleteSplit(tx: AccountTx, patientId: string, place: DeliveryPlace): Promise<void> {
  await tx.db
    .deleteFrom('record_split')
    .where('patient_id', '=', patientId)
    .where('source', '=', place.source)
    .where('resource_type', '=', place.resourceType)
    .where('source_id', '=', place.sourceId)
    .execute();
}

/** The consolidated resource that a delivery belongs to now. */
export async function resourceOf(
  tx: AccountTx,
  patientId: string,
  place: DeliveryPlace,
): Promise<string | null> {
  const row = await tx.db
    .selectFrom('record_origin')
    .select('resource_id')
    .where('patient_id', '=', patientId)
    .where('source', '=', place.source)
    .where('resource_type', '=', place.resourceType)
    .where('source_id', '=', place.sourceId)
    .executeTakeFirst();
  return row?.resource_id ?? null;
}
