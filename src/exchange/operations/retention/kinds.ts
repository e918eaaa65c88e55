import { type RawBuilder, sql } from 'kysely';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { DueCount, RetentionKind } from './sweep.ts';

interface KindParts extends Pick<RetentionKind, 'name' | 'description'> {
  /**
   * Where the items are, by which column they age, and whether a legal hold
   * keeps one.
   */
  items: RawBuilder<unknown>;
  at: string;
  held: RawBuilder<boolean>;
}

/** The condition of a kind's items that are old enough: `<name>.due.sql`. */
const dueOf = (name: string) => sqlFile(`${name}.due.sql`, import.meta.url);

/**
 * A kind whose items `<name>.remove.sql` removes, those without a legal hold.
 */
function listedKind({
  name,
  description,
  items,
  at,
  held,
}: KindParts): RetentionKind {
  const due = dueOf(name);
  const removal = sqlFile(`${name}.remove.sql`, import.meta.url);
  return {
    name,
    description,
    async count(tx, before) {
      const { rows } = await sql<DueCount>`
        select count(*) filter (where not held)::int as due, count(*) filter (where held)::int as held,
          min(at) filter (where not held) as oldest
        from (select ${sql.ref(at)} as at, ${held} as held from ${items} where ${due({ before })}) as item`.execute(
        tx.db,
      );
      return rows[0] ?? { due: 0, held: 0, oldest: null };
    },
    async remove(tx, before, limit) {
      const removed = removal<{ accountId: string }>({
        due: due({ before }),
        held,
        limit,
      });
      return (await removed.execute(tx.db)).rows;
    },
  };
}

/**
 * Whether the patient of a row is under legal hold. @param patientId an SQL
 * expression
 */
const isHeld = (patientId: string): RawBuilder<boolean> =>
  sql`exists (select from legal_hold hold where hold.patient_id = ${sql.ref(patientId)})`;

const UNMATCHED = 'unmatched-messages';
const forgettable = dueOf(UNMATCHED);
const REMOVE_MESSAGES = sqlFile(`${UNMATCHED}.remove.sql`, import.meta.url);

/**
 * Subjects (encounters, fills, results) all of whose messages are old and match
 * no patient. One that fits several patients of an account stays: it may be
 * about a patient under legal hold. So does one whose message is about further
 * subjects.
 */
const unmatchedMessages: RetentionKind = {
  ...listedKind({
    name: UNMATCHED,
    description:
      'notifications by encounter, fill or result about people who are no patients, since the last one came',
    items: sql`inbound_subject s`,
    at: 's.updated_at',
    held: sql<boolean>`false`,
  }),
  async remove(tx, before, limit) {
    const due = forgettable({ before });
    // The lock makes a new message about the subject wait. What came before the
    // lock is seen by the next statement only.
    const { rows } = await sql<{ id: string }>`
      select s.id from inbound_subject s where ${due}
      order by s.updated_at limit ${limit} for update skip locked`.execute(
      tx.db,
    );
    const ids = rows.map(({ id }) => id);
    await REMOVE_MESSAGES({ ids, due }).execute(tx.db);
    const { rows: forgotten } = await sql`
      delete from inbound_subject s where s.id = any(${ids}::uuid[])
        and not exists (select from inbound_event e where e.subject_id = s.id)
      returning s.id`.execute(tx.db);
    return forgotten.map(() => ({ accountId: null }));
  },
};

/**
 * What a retention rule can be set for. The audit is none of it: its chain
 * cannot lose entries.
 */
export const RETENTION_KINDS: readonly RetentionKind[] = [
  listedKind({
    name: 'webhook-events',
    description:
      'webhook messages with their attempts, since they were delivered, dead-lettered or found no destination',
    items: sql`event e`,
    at: 'e.opened_at',
    held: isHeld('e.patient_id'),
  }),
  listedKind({
    name: 'query-timelines',
    description:
      'timeline entries of network queries, since the query ended; what is missing in the record stays said',
    items: sql`network_query_timeline t join network_query q on q.id = t.query_id`,
    at: 't.at',
    held: isHeld('q.patient_id'),
  }),
  listedKind({
    name: 'bulk-results',
    description:
      'result files of bulk creates, since the request ended; its numbers stay',
    items: sql`bulk_request r`,
    at: 'r.ended_at',
    // A result has rows of many patients; a hold on one of them keeps the whole
    // file.
    held: sql`exists (select from bulk_patient p join legal_hold hold on hold.patient_id = p.patient_id where p.request_id = r.id)`,
  }),
  unmatchedMessages,
  listedKind({
    name: 'retired-resources',
    description:
      'resources that their source deleted or moved to another person, since they left the record',
    items: sql`retired_resource r`,
    at: 'r.retired_at',
    held: isHeld('r.patient_id'),
  }),
];
