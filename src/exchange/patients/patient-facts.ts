import type { AccountTx } from '../platform/database/database.ts';

/** The caller's own id of a patient, for webhooks. */
export async function readExternalId(tx: AccountTx, patientId: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .select('external_id')
    .where('id', '=', patientId)
    .executeTakeFirst();
  return row?.external_id ?? undefined;
}
