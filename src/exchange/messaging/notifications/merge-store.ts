import { sql } from 'kysely';
import { columnsOf, membersOf } from '../../platform/database/columns.ts';
import type { SystemTx } from '../../platform/database/database.ts';

export interface StoredMerge extends SourceMerge {
  messageId: string;
}

export async function insertMerge(
  tx: SystemTx,
  merge: {
    messageId: string;
    sender: string;
    priorKey: Buffer;
    survivingKey: Buffer;
    recordedAt: string;
  },
): Promise<void> {
  await tx.db
    .insertInto('inbound_merge')
    .values({ ...columnsOf(merge), recorded_at: new Date(merge.recordedAt) })
    .execute();
}

/**
 * All merges that lead on from a record, over any number of steps; keys in hex.
 */
export async function mergesFrom(
  tx: SystemTx,
  sender: string,
  recordKey: Buffer,
): Promise<StoredMerge[]> {
  const { rows } = await sql<{
    message_id: string;
    prior: string;
    surviving: string;
    recorded_at: Date;
  }>`
    with recursive reached(key) as (
      select ${recordKey}::bytea
      union
      select m.surviving_key from inbound_merge m join reached r on m.prior_key = r.key where m.sender = ${sender}
    )
    select m.message_id, encode(m.prior_key, 'hex') as prior, encode(m.surviving_key, 'hex') as surviving, m.recorded_at
    from inbound_merge m join reached r on m.prior_key = r.key where m.sender = ${sender}
  `.execute(tx.db);
  // The id is a UUID of version 7.
  return rows.map((row) => ({
    ...membersOf(row),
    recordedAt: row.recorded_at.toISOString(),
    arrival: row.message_id,
  }));
}

/**
 * Ids of the subjects of every record that was merged into this one, directly
 * or over several steps, in locking order.
 */
export async function subjectsLeadingTo(
  tx: SystemTx,
  sender: string,
  recordKey: Buffer,
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with recursive chain(key) as (
      select ${recordKey}::bytea
      union
      select m.prior_key from inbound_merge m join chain c on m.surviving_key = c.key where m.sender = ${sender}
    )
    select s.id from inbound_subject s join chain c on s.record_key = c.key where s.sender = ${sender} order by s.id
  `.execute(tx.db);
  return rows.map(({ id }) => id);
}

/**
 * A source merged two of its records of one person: everything of `prior` now
 * belongs to `surviving`.
 */
interface SourceMerge {
  prior: string;
  surviving: string;
  recordedAt: string;
  /**
   * Sorts merges in the order in which they arrived, which decides between
   * those recorded at the same time.
   */
  arrival: string;
}

/**
 * The merge that leads from a record to the record it is part of now; undefined
 * when it was never merged. The newest merge of a record counts and, in a cycle
 * of merges, the newest of the cycle, so the result does not depend on the
 * order of arrival, unless both were recorded at the same time.
 */
export function survivingRecord<M extends SourceMerge>(
  record: string,
  merges: readonly M[],
): M | undefined {
  const path: M[] = [];
  for (let at = record; ; ) {
    const next = newest(merges.filter(({ prior }) => prior === at));
    if (next === undefined) break;
    const circle = path.findIndex(({ prior }) => prior === next.prior);
    if (circle >= 0) return newest(path.slice(circle));
    path.push(next);
    at = next.surviving;
  }
  return path.at(-1);
}

function newest<M extends SourceMerge>(merges: readonly M[]): M | undefined {
  return [...merges].sort(compareMerges).at(-1);
}

const compareMerges = (a: SourceMerge, b: SourceMerge): number =>
  (
    a.recordedAt === b.recordedAt
      ? a.arrival < b.arrival
      : a.recordedAt < b.recordedAt
  )
    ? -1
    : 1;
