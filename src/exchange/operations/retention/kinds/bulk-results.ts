import { sql } from 'kysely';
import type { RetentionKind } from '../retention-kind.ts';
import { countDue } from './due-items.ts';

const ended = (before: Date) => sql`
  r.result is not null and r.status not in ('waiting', 'processing') and r.ended_at < ${before}`;
/** A result has rows of many patients; a hold on one of them keeps the whole file. */
const HELD = sql<boolean>`exists (
  select from bulk_patient p join legal_hold hold on hold.patient_id = p.patient_id where p.request_id = r.id)`;

export const bulkResults: RetentionKind = {
  name: 'bulk-results',
  description: 'result files of bulk creates, since the request ended; its numbers stay',
  count: (tx, before) =>
    countDue(tx, sql`select r.ended_at as at, ${HELD} as held from bulk_request r where ${ended(before)}`),
  async remove(tx, before, limit) {
    const { rows } = await sql<{ accountId: string }>`
      with due as (
        select r.id, r.account_id, r.result->>'ref' as ref from bulk_request r
        where ${ended(before)} and not ${HELD} order by r.ended_at limit ${limit} for update skip locked
      ), erased as (
        insert into erasure (kind, ref, account_id) select 'blob', ref, account_id from due on conflict do nothing
      )
      update bulk_request r set result = null from due where r.id = due.id
      returning r.account_id as "accountId"`.execute(tx.db);
    return rows;
  },
};
