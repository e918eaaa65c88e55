import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { AccountTx, SystemTx } from './database.ts';

export interface NewEvent {
  type: string;
  /** One fact has one event, however often the step that tells it runs. */
  factKey: string;
  /** Of events about one patient; they go out in their order. */
  patientId?: string;
  requestId?: string;
  occurredAt: Date;
  /** `meta` without its id, and the body part; links are added when it is sent. */
  body: { meta: Record<string, unknown> } & Record<string, unknown>;
}

/** An event and where it goes. */
export interface OpenEvent {
  id: string;
  type: string;
  patientId: string | null;
  body: Record<string, unknown>;
  attempts: number;
  url: string;
  key: string;
  destinationId: string;
}

/** Writes an event into the outbox; returns its id, or undefined when the fact has been told before. */
export async function insertEvent(tx: AccountTx, event: NewEvent): Promise<string | undefined> {
  const id = uuidv7();
  const body = { ...event.body, meta: { messageId: id, ...event.body.meta } };
  const { rows } = await sql<{ id: string }>`
    insert into event (id, account_id, patient_id, destination_id, type, fact_key, request_id, body, occurred_at, status)
    select ${id}, ${tx.accountId}, ${event.patientId ?? null}::uuid, d.id, ${event.type}, ${event.factKey}, ${event.requestId ?? null}::uuid,
           ${JSON.stringify(body)}, ${event.occurredAt}, case when d.url is null or d.health = 'disabled' then 'unrouted' else 'pending' end
    from (select 1) as one left join webhook_destination d on d.account_id = ${tx.accountId}
    on conflict (account_id, fact_key) do nothing
    returning id
  `.execute(tx.db);
  return rows[0]?.id;
}

/** How long a claimed event is left to whoever claimed it; more than a receiver has for its answer. */
const IN_HAND_MS = 25_000;

export type Claim =
  | { kind: 'claimed'; event: OpenEvent }
  /** An earlier event of the same patient has not gone out yet, or somebody is just sending this one. */
  | { kind: 'blocked'; attempts: number }
  /** Delivered, dead or without a destination. */
  | { kind: 'closed' };

/** Takes an event for one attempt. The attempt counts from here, whatever becomes of the process. */
export async function claimEvent(tx: AccountTx, eventId: string): Promise<Claim> {
  const event = await tx.db
    .selectFrom('event as e')
    .innerJoin('webhook_destination as d', 'd.id', 'e.destination_id')
    .select([
      'e.id',
      'e.seq',
      'e.type',
      'e.patient_id',
      'e.body',
      'e.attempts',
      'e.status',
      'e.last_attempt_at',
    ])
    .select(['d.url', 'd.key', 'd.id as destinationId'])
    .where('e.id', '=', eventId)
    .forUpdate('e')
    .executeTakeFirst();
  if (event === undefined || (event.status !== 'pending' && event.status !== 'delivering'))
    return { kind: 'closed' };
  if (event.url === null || event.key === null) return { kind: 'closed' };
  const isInHand =
    event.status === 'delivering' && Date.now() - (event.last_attempt_at?.getTime() ?? 0) < IN_HAND_MS;
  if (isInHand || (event.patient_id !== null && (await hasEarlierOpen(tx, event.patient_id, event.seq)))) {
    return { kind: 'blocked', attempts: event.attempts };
  }
  const attempts = event.attempts + 1;
  await tx.db
    .updateTable('event')
    .set({ status: 'delivering', attempts, last_attempt_at: new Date() })
    .where('id', '=', eventId)
    .execute();
  const { url, key, destinationId } = event;
  return {
    kind: 'claimed',
    event: {
      id: event.id,
      type: event.type,
      patientId: event.patient_id,
      body: event.body,
      attempts,
      url,
      key,
      destinationId,
    },
  };
}

/**
 * Waits for whoever is just writing how the earlier event went: either this sees it closed, or that one sees this
 * event waiting (`recordDelivery`). So none of two that meet is left behind.
 */
async function hasEarlierOpen(tx: AccountTx, patientId: string, seq: string): Promise<boolean> {
  const earlier = await tx.db
    .selectFrom('event')
    .select('id')
    .where('patient_id', '=', patientId)
    .where('seq', '<', seq)
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
  /** For operators: `503`, `timeout`, `refused address`; no bodies. */
  note: string;
}

/** Writes how an attempt ended. Returns the patient's next open event, which may go out now. */
export async function recordDelivery(tx: AccountTx, result: AttemptResult): Promise<string | undefined> {
  await tx.db
    .insertInto('event_attempt')
    .values({
      event_id: result.eventId,
      // Counted on when the event is sent anew, though its schedule then begins from the start.
      attempt: sql<number>`(select count(*) + 1 from event_attempt where event_id = ${result.eventId})`,
      account_id: tx.accountId,
      http_status: result.httpStatus ?? null,
      outcome: result.note,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
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
    .where('seq', '>', event.seq)
    .where('status', '=', 'pending')
    .orderBy('seq')
    .limit(1)
    .executeTakeFirst();
  return next?.id;
}

/** The destination said 410: nothing goes there until the caller sets it anew. What was open is dead-lettered. */
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

/** Opens what was dead-lettered or had no destination; returns all events that are open now, oldest first. */
export async function reopenUndelivered(tx: AccountTx): Promise<string[]> {
  await sql`
    update event set status = 'pending', attempts = 0, destination_id = d.id
    from webhook_destination d
    where d.account_id = event.account_id and d.url is not null and event.status in ('dead', 'unrouted')
  `.execute(tx.db);
  const open = await tx.db
    .selectFrom('event')
    .select('id')
    .where('status', '=', 'pending')
    .orderBy('seq')
    .execute();
  return open.map(({ id }) => id);
}

/** A workflow has been asked to bring the event out. */
export async function markHandedOver(tx: AccountTx, eventId: string): Promise<void> {
  await tx.db.updateTable('event').set({ handed_over_at: new Date() }).where('id', '=', eventId).execute();
}

/** How long a hand-over is trusted before it is made again; making it again is harmless. */
const HAND_OVER_AGAIN_MS = 15 * 60_000;

/** Open events that no courier has brought out in time and that no workflow has in hand; over all accounts. */
export async function overdueEvents(
  tx: SystemTx,
  options: { olderThanMs: number; limit: number },
): Promise<{ accountId: string; eventId: string; attempts: number }[]> {
  const now = Date.now();
  const rows = await tx.db
    .selectFrom('event')
    .innerJoin('webhook_destination as d', 'd.id', 'event.destination_id')
    .select(['event.account_id', 'event.id', 'event.attempts'])
    .where('event.status', 'in', ['pending', 'delivering'])
    // While the address is taken away, what is open waits for the next one.
    .where('d.url', 'is not', null)
    .where(({ eb, fn }) =>
      eb(fn.coalesce('last_attempt_at', 'occurred_at'), '<', new Date(now - options.olderThanMs)),
    )
    .where(({ eb, or }) =>
      or([eb('handed_over_at', 'is', null), eb('handed_over_at', '<', new Date(now - HAND_OVER_AGAIN_MS))]),
    )
    .orderBy('seq')
    .limit(options.limit)
    .execute();
  return rows.map((row) => ({ accountId: row.account_id, eventId: row.id, attempts: row.attempts }));
}
