import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';

/** A unit of work, named by opaque ids, and its progress. */
export interface CountedWork {
  name: string;
  progress: string;
}

/**
 * Counts a start, before the work begins. Returns false without counting if there have been `startsMax` starts at the same
 * progress without an end.
 */
export async function recordStart(
  tx: AccountTx,
  { name, progress }: CountedWork,
  startsMax: number,
): Promise<boolean> {
  const counted = await tx.db
    .insertInto('activity_start')
    .values({ account_id: tx.accountId, work: name, progress })
    .onConflict((conflict) =>
      conflict
        .columns(['account_id', 'work'])
        .doUpdateSet({
          progress,
          starts: sql<number>`case when activity_start.progress = ${progress} then activity_start.starts + 1 else 1 end`,
          started_at: sql<Date>`now()`,
        })
        .where(({ eb, or }) =>
          or([eb('activity_start.progress', '<>', progress), eb('activity_start.starts', '<', startsMax)]),
        ),
    )
    .returning('activity_start.starts')
    .executeTakeFirst();
  return counted !== undefined;
}

/** Deletes the count of work that has ended, successfully or not: it did not end its process. */
export async function deleteStarts(tx: AccountTx, name: string): Promise<void> {
  await tx.db.deleteFrom('activity_start').where('work', '=', name).execute();
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
