import { sql } from 'kysely';
import type { SystemTx } from '../database/database.ts';

/** Input of workflows that was refused because it was not encrypted. */
export interface RefusedInput {
  /** Names of workflow code: `signal uploaded of bulkPatientCreate`. */
  what: string;
  times: number;
  last: Date;
}

export async function recordRefusal(tx: SystemTx, what: string): Promise<void> {
  await sql`insert into refused_payload (what) values (${what})
    on conflict (what) do update set times = refused_payload.times + 1, last_at = now()`.execute(
    tx.db,
  );
}

/** What was refused in the last week, newest first. */
export async function readRefusals(tx: SystemTx): Promise<RefusedInput[]> {
  const { rows } = await sql<RefusedInput>`
    select what, times, last_at as last from refused_payload
    where last_at > now() - interval '7 days' order by last_at desc limit 20`.execute(
    tx.db,
  );
  return rows;
}
