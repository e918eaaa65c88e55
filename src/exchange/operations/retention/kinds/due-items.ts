import { type RawBuilder, sql } from 'kysely';
import type { SystemTx } from '../../../platform/database/database.ts';
import type { DueCount } from '../retention-kind.ts';

/** @param items a query with the columns `at` and `held` */
export async function countDue(tx: SystemTx, items: RawBuilder<unknown>): Promise<DueCount> {
  const { rows } = await sql<DueCount>`
    select count(*) filter (where not held)::int as due, count(*) filter (where held)::int as held,
      min(at) filter (where not held) as oldest
    from (${items}) as item`.execute(tx.db);
  return rows[0] ?? { due: 0, held: 0, oldest: null };
}

/** Whether the patient of a row is under legal hold. @param patientId an SQL expression */
export const isHeld = (patientId: string): RawBuilder<boolean> =>
  sql`exists (select from legal_hold hold where hold.patient_id = ${sql.ref(patientId)})`;
