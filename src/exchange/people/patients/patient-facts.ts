import { type AliasedRawBuilder, sql } from 'kysely';
import type { AccountTx } from '../../platform/database/database.ts';

/** The caller's own id of a patient, for webhooks. */
export async function readExternalId(tx: AccountTx, patientId: string): Promise<string | undefined> {
  const row = await tx.db
    .selectFrom('patient')
    .select('external_id')
    .where('id', '=', patientId)
    .executeTakeFirst();
  return row?.external_id ?? undefined;
}

/** The column `external_id` for rows that refer to a patient, read in the same statement; also in `returning`. */
export const externalIdOf = (patientIdColumn: string): AliasedRawBuilder<string | null, 'external_id'> =>
  sql<string | null>`(select p.external_id from patient as p where p.id = ${sql.ref(patientIdColumn)})`.as(
    'external_id',
  );
