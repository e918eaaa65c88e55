import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';

/** A piece of work, by opaque ids, and how far it has come. */
export interface CountedWork {
  name: string;
  progress: string;
}

/** Counts a start before the work begins. False, and nothing is counted, after `startsMax` starts here without an end. */
export async function countStart(
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

/** The work has ended, well or not: its process is still there. */
export async function forgetStarts(tx: AccountTx, name: string): Promise<void> {
  await tx.db.deleteFrom('activity_start').where('work', '=', name).execute();
}

/** Rows of work that was never taken up again: its workflow was ended from outside. Returns how many. */
export async function deleteOldStarts(tx: SystemTx, limit: number): Promise<number> {
  const deleted = await sql`
    delete from activity_start where (account_id, work) in (
      select account_id, work from activity_start where started_at < now() - interval '30 days' limit ${limit})`.execute(
    tx.db,
  );
  return Number(deleted.numAffectedRows ?? 0);
}
