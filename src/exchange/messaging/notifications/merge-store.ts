import { sql } from 'kysely';
import type { SystemTx } from '../../platform/database/database.ts';
import type { SourceMerge } from './rules/source-merges.ts';

export interface StoredMerge extends SourceMerge {
  messageId: string;
}

export async function insertMerge(
  tx: SystemTx,
  merge: { messageId: string; sender: string; priorKey: Buffer; survivingKey: Buffer; recordedAt: string },
): Promise<void> {
  await tx.db
    .insertInto('inbound_merge')
    .values({
      message_id: merge.messageId,
      sender: merge.sender,
      prior_key: merge.priorKey,
      surviving_key: merge.survivingKey,
      recorded_at: new Date(merge.recordedAt),
    })
    .execute();
}

/** All merges that lead on from a record, over any number of steps; keys in hex. */
export async function mergesFrom(tx: SystemTx, sender: string, recordKey: Buffer): Promise<StoredMerge[]> {
  const { rows } = await sql<{ message_id: string; prior: string; surviving: string; recorded_at: Date }>`
    with recursive reached(key) as (
      select ${recordKey}::bytea
      union
      select m.surviving_key from inbound_merge m join reached r on m.prior_key = r.key where m.sender = ${sender}
    )
    select m.message_id, encode(m.prior_key, 'hex') as prior, encode(m.surviving_key, 'hex') as surviving, m.recorded_at
    from inbound_merge m join reached r on m.prior_key = r.key where m.sender = ${sender}
  `.execute(tx.db);
  return rows.map((row) => ({
    messageId: row.message_id,
    prior: row.prior,
    surviving: row.surviving,
    recordedAt: row.recorded_at.toISOString(),
    // A UUID of version 7.
    arrival: row.message_id,
  }));
}

/** Ids of the subjects of every record that was merged into this one, directly or over several steps, in locking order. */
export async function subjectsLeadingTo(tx: SystemTx, sender: string, recordKey: Buffer): Promise<string[]> {
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
