import { type Selectable, sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';
import { sqlFile } from '../database/pg-arrays.ts';
import type { Database } from '../database/schema.ts';

const CLAIM_EVENTS = sqlFile('claim-events.sql', import.meta.url);

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
  /**
   * Encrypted signing keys (`WebhookKeys`): the current one, then the previous
   * one while it is valid.
   */
  keys: string[];
  /**
   * The attempt tests whether a held destination accepts events again; it is
   * not one of the event's ten.
   */
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
   * An earlier event of the same patient has not been delivered there, another
   * process is sending this one, or the destination is held.
   */
  | { kind: 'blocked'; attempts: number }
  /** Already delivered, dead-lettered, or without a destination. */
  | { kind: 'closed' };

/**
 * How long a claim is respected; longer than the time that a receiver has to
 * respond.
 */
export const IN_HAND_MS = 25_000;

/**
 * SQL: times that processes compare are PostgreSQL's, for their own clocks may
 * differ.
 */
export const NOW = sql<Date>`now()`;
export const nowPlus = (ms: number) =>
  sql<Date>`now() + ${ms} * interval '1 millisecond'`;

const CLAIM_IS_OVER = sql<boolean>`e.status = 'delivering'
  and e.last_attempt_at < now() - ${IN_HAND_MS} * interval '1 millisecond'`;
/**
 * SQL condition: the event `e` is open, and no process is sending it. Of rows
 * that are found by their ids: written as a CASE it matches no partial index,
 * which PostgreSQL may take for almost empty while 100,000 events wait.
 */
const IS_FREE = sql<boolean>`case when e.status = 'pending' then true else ${CLAIM_IS_OVER} end`;
/**
 * SQL condition: the time of the next attempt of the open event `e` has come.
 */
export const IS_DUE = sql<boolean>`(e.status = 'pending' and coalesce(e.next_attempt_at, '-infinity') <= now() or ${CLAIM_IS_OVER})`;

/**
 * SQL condition: two events are for the same destination. Not to be found by
 * index: a destination may have 100,000 open events.
 */
export const sameDestination = (one: string, other: string) =>
  sql<boolean>`${sql.ref(one)}.destination_id is not distinct from ${sql.ref(other)}.destination_id`;

/**
 * SQL condition: no earlier event of the same patient is open for the
 * destination of the event `e`. ORDER BY and LIMIT make PostgreSQL look it up
 * by patient (`event_open_by_patient`) for each event, however many events it
 * believes to be open.
 */
export const NO_EARLIER_OPEN = sql<boolean>`(
  select earlier.id from event as earlier
  where earlier.patient_id = e.patient_id and earlier.seq < e.seq and earlier.status in ('pending', 'delivering')
    and ${sameDestination('earlier', 'e')}
  order by earlier.seq limit 1) is null`;

/**
 * SQL: the id of the message of a row. Under row-level security, COALESCE would
 * not be looked up in the primary key.
 */
const messageIdOf = (row: string) =>
  sql`case when ${sql.ref(row)}.copy_of is null then ${sql.ref(row)}.id else ${sql.ref(row)}.copy_of end`;

/** A row of the outbox. */
export interface EventKey {
  accountId: string;
  eventId: string;
}

/**
 * Claims events for an attempt each, of any accounts, in one statement. The
 * attempt is counted now, even if the process then crashes. Rows that another
 * transaction has locked are not waited for; for an event this counts as being
 * sent by another process. An event that is blocked by an earlier one is found
 * when that one is closed (`afterDelivery`).
 *
 * @returns the claim of each event, in their order; of an event that is named
 *   twice, only one is claimed
 */
export async function claimEvents(
  tx: Pick<SystemTx, 'db'>,
  keys: readonly EventKey[],
): Promise<EventClaim[]> {
  const { rows } = await CLAIM_EVENTS<FoundRow>({
    accountIds: keys.map(({ accountId }) => accountId),
    eventIds: keys.map(({ eventId }) => eventId),
    isFree: IS_FREE,
    noEarlierOpen: NO_EARLIER_OPEN,
    messageId: messageIdOf('e'),
  }).execute(tx.db);
  const found = new Map(rows.map((row) => [row.id, row]));
  return keys.map(({ eventId }) => {
    const row = found.get(eventId);
    const claim = claimOf(row);
    if (row !== undefined) row.is_claimed = false;
    return claim;
  });
}

interface FoundRow extends ClaimedRow, Omit<Destination, 'url' | 'key'> {
  url: string | null;
  key: string | null;
  status: string;
  is_claimed: boolean;
}

function claimOf(row: FoundRow | undefined): EventClaim {
  const isOpen = row?.status === 'pending' || row?.status === 'delivering';
  if (!isOpen || row.url === null || row.key === null)
    return { kind: 'closed' };
  const { url, key, attempts } = row;
  if (!row.is_claimed) return { kind: 'blocked', attempts };
  return {
    kind: 'claimed',
    event: openEvent(row, { ...row, url, key }, false),
  };
}

/**
 * Claims the oldest events of a destination that may be sent now, at most
 * `max`, of a patient at most one. Of a held destination it claims one event
 * when a probe is due: the one whose last attempt is longest ago, so that an
 * event which always fails does not keep the destination held.
 */
export async function claimDue(
  tx: AccountTx,
  destinationId: string,
  max: number,
): Promise<OpenEvent[]> {
  const destination = await tx.db
    .selectFrom('webhook_destination')
    .select([
      'id as destination_id',
      'url',
      'key',
      'previous_key',
      'previous_key_until',
    ])
    .select(['health', 'failures', 'held_since', 'held_until', 'looks_at'])
    .select(sql<boolean>`coalesce(held_until > now(), false)`.as('is_waiting'))
    .where('id', '=', destinationId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (destination === undefined) return [];
  const { url, key, held_until: heldUntil } = destination;
  if (url === null || key === null || destination.is_waiting) return [];
  const isProbe = heldUntil !== null;
  const claimed = await claimFirst(
    tx,
    destinationId,
    isProbe ? { isProbe, max: 1 } : { isProbe, max },
  );
  if (claimed.length === 0) return [];
  if (isProbe) {
    // Until the result is recorded, or longer if the process dies, no second
    // probe is sent.
    await tx.db
      .updateTable('webhook_destination')
      .set({ held_until: nowPlus(IN_HAND_MS) })
      .where('id', '=', destinationId)
      .execute();
  }
  return claimed.map((row) =>
    openEvent(row, { ...destination, url, key }, isProbe),
  );
}

type ClaimedRow = Pick<
  Selectable<Database['event']>,
  'id' | 'type' | 'patient_id' | 'attempts'
> & {
  message_id: string;
  body: Record<string, unknown>;
};

async function claimFirst(
  tx: AccountTx,
  destinationId: string,
  { isProbe, max }: { isProbe: boolean; max: number },
): Promise<ClaimedRow[]> {
  const { rows } = await sql<ClaimedRow>`
    with first as (
      select e.id from event as e
      where e.destination_id = ${destinationId} and e.status in ('pending', 'delivering')
        and ${isProbe ? IS_FREE : IS_DUE} and ${NO_EARLIER_OPEN}
      order by ${isProbe ? sql`e.last_attempt_at nulls first, ` : sql``} e.seq
      limit ${max} for no key update skip locked
    ), claimed as (
      update event set status = 'delivering', attempts = attempts + ${isProbe ? 0 : 1}, last_attempt_at = now()
      from first where event.id = first.id returning event.*
    )
    select c.id, c.type, c.patient_id, c.attempts, m.id as message_id, m.body
    from claimed as c join event as m on m.id = ${messageIdOf('c')} order by c.seq`.execute(
    tx.db,
  );
  return rows;
}

type Destination = { destination_id: string; url: string; key: string } & Pick<
  Selectable<Database['webhook_destination']>,
  | 'previous_key'
  | 'previous_key_until'
  | 'health'
  | 'failures'
  | 'held_since'
  | 'looks_at'
>;

function openEvent(
  row: ClaimedRow,
  destination: Destination,
  isProbe: boolean,
): OpenEvent {
  const { url, key, previous_key: previousKey } = destination;
  const isOverlap =
    (destination.previous_key_until?.getTime() ?? 0) > Date.now();
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
