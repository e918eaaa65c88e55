import type { RecordSource } from '../../../contract/primitives.ts';
import type { AccountTx } from '../../platform/database/database.ts';

/** The person's Patient ids at each source. */
export async function readSourcePatientIds(
  tx: AccountTx,
  patientId: string,
): Promise<Map<string, Set<string>>> {
  const rows = await tx.db
    .selectFrom('patient_at_source')
    .select(['source', 'source_patient_id as id'])
    .where('patient_id', '=', patientId)
    .execute();
  const ids = new Map<string, Set<string>>();
  for (const { source, id } of rows) ids.set(source, (ids.get(source) ?? new Set()).add(id));
  return ids;
}

export async function insertSourcePatientIds(
  tx: AccountTx,
  patientId: string,
  source: RecordSource,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx.db
    .insertInto('patient_at_source')
    .values(
      ids.map((id) => ({
        account_id: tx.accountId,
        patient_id: patientId,
        source,
        source_patient_id: id,
      })),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
