import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { AccountTx } from '../database/database.ts';
import { copiesOf, STATUS_AT_FIRST } from './event-copy-store.ts';

export interface NewEvent {
  type: string;
  /** Unique per account, so that a repeated step does not announce a fact twice. */
  factKey: string;
  /** Events of one patient are delivered in order. */
  patientId?: string;
  requestId?: string;
  occurredAt: Date;
  /** The body without `meta.messageId` and without links, which are added when it is sent. */
  body: { meta: Record<string, unknown> } & Record<string, unknown>;
}

/** An event to be sent to one destination. */
export interface OpenEvent {
  id: string;
  /** The id of the message; the same for all destinations. */
  messageId: string;
  type: string;
  patientId: string | null;
  body: Record<string, unknown>;
  attempts: number;
  url: string;
  /** Encrypted signing keys (`WebhookKeys`): the current one, then the previous one while it is valid. */
  keys: string[];
  destinationId: string;
}

/**
 * Writes an event into the outbox, with a copy for each further destination whose filter matches. It is sent after the
 * commit. With `onlyTo` it goes to that destination only.
 *
 * @returns its id, or undefined when this fact (`factKey`) has an event already
 */
export async function insertEvent(
  tx: AccountTx,
  event: NewEvent,
  onlyTo?: { destinationId: string },
): Promise<string | undefined> {
  const id = uuidv7();
  const body = { ...event.body, meta: { messageId: id, ...event.body.meta } };
  const first = onlyTo === undefined ? sql`d.of_settings` : sql`d.id = ${onlyTo.destinationId}`;
  const { rows } = await sql<{ id: string }>`
    with message as (
      insert into event (id, account_id, patient_id, destination_id, type, fact_key, request_id, body, occurred_at, status)
      select ${id}, ${tx.accountId}, ${event.patientId ?? null}::uuid, d.id, ${event.type}, ${event.factKey}, ${event.requestId ?? null}::uuid,
             ${JSON.stringify(body)}, ${event.occurredAt}, ${STATUS_AT_FIRST}
      from (select 1) as one left join webhook_destination d on d.account_id = ${tx.accountId} and ${first}
      on conflict (account_id, fact_key) where copy_of is null do nothing
      returning *
    )${onlyTo === undefined ? sql`, copies as (${copiesOf(sql`message`)})` : sql``}
    select id from message
  `.execute(tx.db);
  const eventId = rows[0]?.id;
  if (eventId !== undefined) tx.newEvents.push(eventId);
  return eventId;
}

/** How long a claim is respected; longer than the time that a receiver has to respond. */
const IN_HAND_MS = 25_000;

export type EventClaim =
  | { kind: 'claimed'; event: OpenEvent }
  /** An earlier event of the same patient has not been delivered there, or another process is sending this one. */
  | { kind: 'blocked'; attempts: number }
  /** Already delivered, dead-lettered, or without a destination. */
  | { kind: 'closed' };

/** Claims an event for one attempt. The attempt is counted now, even if the process then crashes. */
export async function claimEvent(tx: AccountTx, eventId: string): Promise<EventClaim> {
  const event = await tx.db
    .selectFrom('event as e')
    .innerJoin('webhook_destination as d', 'd.id', 'e.destination_id')
    .innerJoin('event as m', (join) => join.on('m.id', '=', sql`coalesce(e.copy_of, e.id)`))
    .select(['e.id', 'e.seq', 'e.type', 'e.patient_id', 'e.attempts', 'e.status', 'e.last_attempt_at'])
    .select(['m.id as messageId', 'm.body'])
    .select(['d.id as destinationId', 'd.url', 'd.key', 'd.previous_key', 'd.previous_key_until'])
    .where('e.id', '=', eventId)
    .forUpdate('e')
    .executeTakeFirst();
  if (event === undefined || (event.status !== 'pending' && event.status !== 'delivering'))
    return { kind: 'closed' };
  if (event.url === null || event.key === null) return { kind: 'closed' };
  const isInHand =
    event.status === 'delivering' && Date.now() - (event.last_attempt_at?.getTime() ?? 0) < IN_HAND_MS;
  if (isInHand || (event.patient_id !== null && (await hasEarlierOpen(tx, event, event.patient_id)))) {
    return { kind: 'blocked', attempts: event.attempts };
  }
  const attempts = event.attempts + 1;
  await tx.db
    .updateTable('event')
    .set({ status: 'delivering', attempts, last_attempt_at: new Date() })
    .where('id', '=', eventId)
    .execute();
  const { url, key, destinationId, messageId } = event;
  const isOverlap = (event.previous_key_until?.getTime() ?? 0) > Date.now();
  return {
    kind: 'claimed',
    event: {
      id: event.id,
      messageId,
      type: event.type,
      patientId: event.patient_id,
      body: event.body,
      attempts,
      url,
      keys: isOverlap && event.previous_key !== null ? [key, event.previous_key] : [key],
      destinationId,
    },
  };
}

/**
 * Whether an earlier event of the patient is open. Waits for a transaction that is recording the earlier event's delivery:
 * either this one then sees it closed, or `recordDelivery` sees this event pending and returns it. So neither is forgotten.
 */
async function hasEarlierOpen(
  tx: AccountTx,
  event: { seq: string; destinationId: string },
  patientId: string,
): Promise<boolean> {
  const earlier = await tx.db
    .selectFrom('event')
    .select('id')
    .where('patient_id', '=', patientId)
    .where('destination_id', '=', event.destinationId)
    .where('seq', '<', event.seq)
    .where('status', 'in', ['pending', 'delivering'])
    .orderBy('seq')
    .limit(1)
    .forShare()
    .executeTakeFirst();
  return earlier !== undefined;
}

export interface AttemptResult {
  eventId: string;
  outcome: 'delivered' | 'failed' | 'dead';
  httpStatus?: number;
  /** For operators, such as `503` or `no response within 15 s`; never contains a body. */
  note: string;
}

/** Records the result of an attempt. Returns the patient's next event for the destination if it can now be sent. */
export async function recordDelivery(tx: AccountTx, result: AttemptResult): Promise<string | undefined> {
  // Attempts are numbered on if the event is replayed, although its schedule then starts again. No row if the event is gone.
  await sql`
    insert into event_attempt (event_id, attempt, account_id, http_status, outcome)
    select id, (select count(*) + 1 from event_attempt where event_id = event.id), account_id,
      ${result.httpStatus ?? null}::int, ${result.note}
    from event where id = ${result.eventId}
    on conflict do nothing
  `.execute(tx.db);
  const status = result.outcome === 'failed' ? 'pending' : result.outcome;
  const event = await tx.db
    .updateTable('event')
    .set({ status, delivered_at: result.outcome === 'delivered' ? new Date() : null })
    .where('id', '=', result.eventId)
    .where('status', 'in', ['pending', 'delivering'])
    .returning(['patient_id', 'seq', 'destination_id'])
    .executeTakeFirst();
  if (event === undefined) return undefined;
  const health = result.outcome === 'delivered' ? 'healthy' : 'failing';
  await tx.db
    .updateTable('webhook_destination')
    .set({ health, health_at: new Date() })
    .where('id', '=', event.destination_id)
    .where('health', 'not in', [health, 'disabled'])
    .execute();
  if (result.outcome === 'failed' || event.patient_id === null) return undefined;
  const next = await tx.db
    .selectFrom('event')
    .select('id')
    .where('patient_id', '=', event.patient_id)
    .where('destination_id', '=', event.destination_id)
    .where('seq', '>', event.seq)
    .where('status', '=', 'pending')
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return next?.id;
}

/** Disables a destination that responded 410, until the caller sets its URL again. Its open events are dead-lettered. */
export async function disableDestination(tx: AccountTx, destinationId: string): Promise<void> {
  await tx.db
    .updateTable('webhook_destination')
    .set({ health: 'disabled', health_at: new Date() })
    .where('id', '=', destinationId)
    .execute();
  await tx.db
    .updateTable('event')
    .set({ status: 'dead' })
    .where('destination_id', '=', destinationId)
    .where('status', 'in', ['pending', 'delivering'])
    .execute();
}
