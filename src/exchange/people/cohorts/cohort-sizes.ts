import { sql } from 'kysely';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { type Recovery, removalRecovery } from '../../platform/recovery/recovery.ts';

/** The number of a cohort's patients: as last added up, and the changes since. */
export const COHORT_SIZE = sql<number>`cohort.patients_counted + coalesce(
  (select sum(change) from cohort_size_change where cohort_size_change.cohort_id = cohort.id), 0)::bigint`;

/** Adds up the changes of cohorts' sizes, so that reading a size reads few of them. */
export const sizeSummation = ({ store }: { store: Pick<Store, 'asSystem'> }): Recovery =>
  removalRecovery('changes of cohort sizes', (limit) => store.asSystem((tx) => addUp(tx, limit)));

/** One statement, so that every reader sees a change either as a row or as part of the sum. */
async function addUp(tx: SystemTx, limit: number): Promise<number> {
  const { rows } = await sql<{ changes: number }>`
    with taken as (
      delete from cohort_size_change where id in (
        select id from cohort_size_change order by id limit ${limit} for update skip locked
      ) returning cohort_id, change
    ), summed as (
      update cohort set patients_counted = patients_counted + part.change
      from (select cohort_id, sum(change) as change from taken group by cohort_id) as part
      where cohort.id = part.cohort_id
    )
    select count(*) as changes from taken
  `.execute(tx.db);
  return rows[0]?.changes ?? 0;
}
