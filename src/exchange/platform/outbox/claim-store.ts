import { sql } from 'kysely';
import type { AccountTx } from '../database/database.ts';

/** An event to be sent to one destination. */
export interface OpenEvent {
  id: string;
  /** The id of the message; the same for all destinations. */
  messageId: string;
  type: string;
  patientId: string | null;
  body: Record<string, unknown>;
  attempts: number;
  destinationId: string;
  url: string;
  /** Encrypted signing keys (`WebhookKeys`): the current one, then the previous one while it is valid. */
  keys: string[];
  /** The attempt tests whether a held destination accepts events again; it is not one of the event's ten. */
  isProbe: boolean;
  /** When the destination was held, if it is. */
  heldSince: Date | null;
  /** The destination was healthy, so a delivery changes nothing about it. */
  isHealthy: boolean;
  /** A workflow waits for events of the destination. */
  hasWorkflow: boolean;
}

export type EventClaim =
  | { kind: 'claimed'; event: OpenEvent }
  /**
   * An earlier event of the same patient has not been delivered there, another process is sending this one, or the destination
   * is held.
   */
  | { kind: 'blocked'; attempts: number }
  /** Already delivered, dead-lettered, or without a destination. */
  | { kind: 'closed' };

/** How long a claim is respected; longer than the time that a receiver has to respond. */
export const IN_HAND_MS = 25_000;

const CLAIM_IS_OVER = sql<boolean>`e.status = 'delivering'
  and e.last_attempt_at < now() - ${IN_HAND_MS} * interval '1 millisecond'`;
/** SQL condition: no process is sending the open event `e`. */
const IS_FREE = sql<boolean>`(e.status = 'pending' or ${CLAIM_IS_OVER})`;
/** SQL condition: the time of the next attempt of the open event `e` has come. */
export const IS_DUE = sql<boolean>`(e.status = 'pending' and coalesce(e.next_attempt_at, '-infinity') <= now() or ${CLAIM_IS_OVER})`;

/** SQL condition: no earlier event of the same patient is open for the destination of the event `e`. */
export const NO_EARLIER_OPEN = sql<boolean>`not exists (
  select from event as earlier where earlier.patient_id = e.patient_id and earlier.destination_id = e.destination_id
    and earlier.seq < e.seq and earlier.status in ('pending', 'delivering'))`;

/** Claims one event for an attempt. The attempt is counted now, even if the process then crashes. */
export async function claimEvent(tx: AccountTx, eventId: string): Promise<EventClaim> {
  const event = await tx.db
    .selectFrom('event as e')
    .innerJoin('webhook_destination as d', 'd.id', 'e.destination_id')
    .innerJoin('event as m', (join) => join.on('m.id', '=', sql`coalesce(e.copy_of, e.id)`))
    .select(['e.id', 'e.seq', 'e.type', 'e.patient_id', 'e.attempts', 'e.status', 'e.last_attempt_at'])
    .select(['m.id as message_id', 'm.body'])
    .select(['d.id as destination_id', 'd.url', 'd.key', 'd.previous_key', 'd.previous_key_until'])
    .select(['d.health', 'd.failures', 'd.held_since', 'd.held_until', 'd.looks_at'])
    .where('e.id', '=', eventId)
    .forUpdate('e')
    .executeTakeFirst();
  if (event === undefined || (event.status !== 'pending' && event.status !== 'delivering'))
    return { kind: 'closed' };
  if (event.url === null || event.key === null) return { kind: 'closed' };
  const isInHand =
    event.status === 'delivering' && Date.now() - (event.last_attempt_at?.getTime() ?? 0) < IN_HAND_MS;
  const isBlocked =
    isInHand ||
    event.held_until !== null ||
    (event.patient_id !== null && (await hasEarlierOpen(tx, event, event.patient_id)));
  if (isBlocked) return { kind: 'blocked', attempts: event.attempts };
  const attempts = event.attempts + 1;
  await tx.db
    .updateTable('event')
    .set({ status: 'delivering', attempts, last_attempt_at: new Date() })
    .where('id', '=', eventId)
    .execute();
  const { url, key } = event;
  return { kind: 'claimed', event: openEvent({ ...event, attempts }, { ...event, url, key }, false) };
}

/**
 * Whether an earlier event of the patient is open. Waits for a transaction that is recording the earlier event's delivery:
 * either this one then sees it closed, or `recordDelivery` sees this event pending and returns it. So neither is forgotten.
 */
async function hasEarlierOpen(
  tx: AccountTx,
  event: { seq: string; destination_id: string },
  patientId: string,
): Promise<boolean> {
  const earlier = await tx.db
    .selectFrom('event')
    .select('id')
    .where('patient_id', '=', patientId)
    .where('destination_id', '=', event.destination_id)
    .where('seq', '<', event.seq)
    .where('status', 'in', ['pending', 'delivering'])
    .orderBy('seq')
    .limit(1)
    .forShare()
    .executeTakeFirst();
  return earlier !== undefined;
}

/**
 * Claims the oldest event of a destination that may be sent now; undefined if there is none. Of a held destination it claims
 * one event when a probe is due: the one whose last attempt is longest ago, so that an event which always fails does not
 * keep the destination held.
 */
export async function claimNext(tx: AccountTx, destinationId: string): Promise<OpenEvent | undefined> {
  const destination = await tx.db
    .selectFrom('webhook_destination')
    .select(['id as destination_id', 'url', 'key', 'previous_key', 'previous_key_until'])
    .select(['health', 'failures', 'held_since', 'held_until', 'looks_at'])
    .where('id', '=', destinationId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (destination === undefined) return undefined;
  const { url, key, held_until: heldUntil } = destination;
  if (url === null || key === null || (heldUntil !== null && heldUntil.getTime() > Date.now()))
    return undefined;
  const isProbe = heldUntil !== null;
  const claimed = await claimFirst(tx, destinationId, isProbe);
  if (claimed === undefined) return undefined;
  if (isProbe) {
    // Until the result is recorded, or longer if the process dies, no second probe is sent.
    await tx.db
      .updateTable('webhook_destination')
      .set({ held_until: new Date(Date.now() + IN_HAND_MS) })
      .where('id', '=', destinationId)
      .execute();
  }
  return openEvent(claimed, { ...destination, url, key }, isProbe);
}

interface ClaimedRow {
  id: string;
  message_id: string;
  type: string;
  patient_id: string | null;
  body: Record<string, unknown>;
  attempts: number;
}

async function claimFirst(
  tx: AccountTx,
  destinationId: string,
  isProbe: boolean,
): Promise<ClaimedRow | undefined> {
  const { rows } = await sql<ClaimedRow>`
    with first as (
      select e.id from event as e
      where e.destination_id = ${destinationId} and e.status in ('pending', 'delivering')
        and ${isProbe ? IS_FREE : IS_DUE} and ${NO_EARLIER_OPEN}
      order by ${isProbe ? sql`e.last_attempt_at nulls first, ` : sql``} e.seq
      limit 1 for update skip locked
    ), claimed as (
      update event set status = 'delivering', attempts = attempts + ${isProbe ? 0 : 1}, last_attempt_at = now()
      from first where event.id = first.id returning event.*
    )
    select c.id, c.type, c.patient_id, c.attempts, m.id as message_id, m.body
    from claimed as c join event as m on m.id = coalesce(c.copy_of, c.id)`.execute(tx.db);
  return rows[0];
}

interface Destination {
  destination_id: string;
  url: string;
  key: string;
  previous_key: string | null;
  previous_key_until: Date | null;
  health: string;
  failures: number;
  held_since: Date | null;
  looks_at: Date | null;
}

function openEvent(row: ClaimedRow, destination: Destination, isProbe: boolean): OpenEvent {
  const { url, key, previous_key: previousKey } = destination;
  const isOverlap = (destination.previous_key_until?.getTime() ?? 0) > Date.now();
  return {
    id: row.id,
    messageId: row.message_id,
    type: row.type,
    patientId: row.patient_id,
    body: row.body,
    attempts: row.attempts,
    destinationId: destination.destination_id,
    url,
    keys: isOverlap && previousKey !== null ? [key, previousKey] : [key],
    isProbe,
    heldSince: destination.held_since,
    isHealthy: destination.health === 'healthy' && destination.failures === 0,
    hasWorkflow: destination.looks_at !== null,
  };
}
