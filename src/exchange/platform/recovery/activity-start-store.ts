import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';

/** A unit of work, named by opaque ids, and its progress. */
export interface CountedWork {
  name: string;
  progress: string;
}

/**
 * Counts a start by a process, before the work begins. Returns false without counting if `startsMax` other processes have
 * started it at the same progress and not said how it ended. What a process has started before does not count: it lives.
 */
export async function recordStart(
  tx: AccountTx,
  { name, progress, by }: CountedWork & { by: string },
  startsMax: number,
): Promise<boolean> {
  const { rows } = await sql`
    insert into activity_start (account_id, work, progress, starts, processes)
    values (${tx.accountId}, ${name}, ${progress}, 1, array[${by}])
    on conflict (account_id, work) do update set
      progress = excluded.progress,
      processes = ${others(progress, by)} || excluded.processes,
      starts = cardinality(${others(progress, by)}) + 1,
      started_at = now()
    where cardinality(${others(progress, by)}) < ${startsMax}::int
    returning starts`.execute(tx.db);
  return rows.length > 0;
}

const others = (progress: string, by: string) =>
  sql`case when activity_start.progress = ${progress} then array_remove(activity_start.processes, ${by}) else '{}' end`;

/** Deletes the count of work that has ended, successfully or not: it did not end its process. */
export async function deleteStarts(tx: AccountTx, name: string): Promise<void> {
  await tx.db.deleteFrom('activity_start').where('work', '=', name).execute();
}

/** Removes a process from the count of work that has ended there some time ago. Others may have started it since. */
export async function deleteStartsBy(tx: AccountTx, name: string, by: string): Promise<void> {
  await sql`update activity_start set processes = array_remove(processes, ${by}),
    starts = cardinality(array_remove(processes, ${by})) where work = ${name}`.execute(tx.db);
  await tx.db.deleteFrom('activity_start').where('work', '=', name).where('starts', '=', 0).execute();
}

/** Deletes counts older than 30 days, of work that was never continued. Returns the number of rows. */
export async function deleteOldStarts(tx: SystemTx, limit: number): Promise<number> {
  const deleted = await sql`
    delete from activity_start where (account_id, work) in (
      select account_id, work from activity_start where started_at < now() - interval '30 days' limit ${limit})`.execute(
    tx.db,
  );
  return Number(deleted.numAffectedRows ?? 0);
}
