import { sql } from 'kysely';
import type { SystemTx } from '../database/database.ts';
import { type OpenEvent, sameDestination } from './claim-store.ts';

/** A delivery that changes nothing about its destination: that was healthy before. */
export interface PlainDelivery {
  eventId: string;
  httpStatus: number;
  note: string;
}

/**
 * Records deliveries of any accounts in one statement. Rows that another transaction has locked are not waited for.
 *
 * @returns the ids of the events that it closed; the others are to be recorded one by one (`recordDelivery`)
 */
export async function recordDelivered(
  tx: Pick<SystemTx, 'db'>,
  deliveries: readonly PlainDelivery[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    with sent as (
      select * from unnest(${deliveries.map(({ eventId }) => eventId)}::uuid[],
        ${deliveries.map(({ httpStatus }) => httpStatus)}::int[],
        ${deliveries.map(({ note }) => note)}::text[]) as sent (id, http_status, note)
    ), free as (
      select e.id, e.account_id, sent.http_status, sent.note from sent join event as e using (id)
      where e.status not in ('delivered', 'dead', 'unrouted') for no key update of e skip locked
    ), attempted as (
      insert into event_attempt (event_id, attempt, account_id, http_status, outcome)
      select id, (select count(*) + 1 from event_attempt where event_id = free.id), account_id, http_status, note from free
      on conflict do nothing
    )
    update event set status = 'delivered', delivered_at = now(), next_attempt_at = null
    from free where event.id = free.id returning event.id`.execute(tx.db);
  return new Set(rows.map(({ id }) => id));
}

/** What follows the end of an event. */
export interface AfterDelivery {
  /** The patient's next event for the destination, if it can be sent now. */
  nextEventId?: string;
  /** The destination's workflow has nothing left to do, and should look so that it ends. To be ignored by it itself. */
  needsLook: boolean;
}

/**
 * What follows the end of events of any accounts. To be called after their end is committed: an event that is committed
 * meanwhile either finds them closed when it is claimed, or is found here.
 *
 * @returns a result for each event, in their order
 */
export async function afterDelivery(
  tx: Pick<SystemTx, 'db'>,
  events: readonly Pick<OpenEvent, 'id'>[],
): Promise<AfterDelivery[]> {
  const { rows } = await sql<{ id: string; next_id: string | null; needs_look: boolean }>`
    select e.id, later.id as next_id, d.looks_at > now() and (
        select open.id from event as open where open.destination_id = d.id and open.status in ('pending', 'delivering')
        order by open.seq limit 1) is null as needs_look
    from event as e join webhook_destination as d on d.id = e.destination_id
      left join lateral (
        select later.id from event as later
        where later.patient_id = e.patient_id and later.seq > e.seq and later.status = 'pending'
          and ${sameDestination('later', 'e')}
        order by later.seq limit 1) as later on true
    where e.id = any(${events.map(({ id }) => id)}::uuid[])`.execute(tx.db);
  const found = new Map(rows.map((row) => [row.id, row]));
  return events.map(({ id }) => {
    const row = found.get(id);
    return { nextEventId: row?.next_id ?? undefined, needsLook: row?.needs_look === true };
  });
}
