import { sql } from 'kysely';
import type { AccountTx } from '../database/database.ts';
import { NOW, nowPlus, type OpenEvent } from './claim-store.ts';
import {
  HELD_EVENT_MAX_MS,
  holdMs,
  OUTAGE_MIN_MS,
} from './rules/delivery-schedule.ts';

export interface AttemptResult {
  outcome: 'delivered' | 'failed' | 'dead';
  httpStatus?: number;
  /**
   * For operators, such as `503` or `no response within 15 s`; never contains a
   * body.
   */
  note: string;
  /** Delay that the receiver requested with Retry-After. */
  retryAfterMs?: number;
  /**
   * After a failure: in how many milliseconds the event may be sent again, by
   * its own schedule.
   */
  nextAttemptMs?: number;
}

export interface RecordedDelivery {
  /**
   * Whether this attempt ended the event; then see `afterDelivery`. False also
   * if it was open no more.
   */
  isClosed: boolean;
  /**
   * The destination's workflow must look at its events: it is not running, or
   * would look too late.
   */
  needsLook: boolean;
}

/**
 * A workflow that looked this recently at the events of its destination does so
 * again before it waits or ends.
 */
export const LOOK_MAX_MS = 2 * 60_000;

/**
 * SQL: the result of the newest attempt to send one of the open events of the
 * destination `d`.
 */
export const LAST_RESULT = sql`(select t.outcome from event w join event_attempt t on t.event_id = w.id
  where w.destination_id = d.id and w.status in ('pending', 'delivering') order by t.at desc limit 1)`;

/** SQL: all attempts to send the event `e`, oldest first, as JSON. */
export const ATTEMPTS = sql`coalesce((
  select jsonb_agg(jsonb_build_object('at', t.at, 'httpStatus', t.http_status, 'outcome', t.outcome) order by t.at, t.attempt)
  from event_attempt t where t.event_id = e.id), '[]')`;

/** Records the result of an attempt, in the event and in its destination. */
export async function recordDelivery(
  tx: AccountTx,
  event: Omit<OpenEvent, 'body'>,
  result: AttemptResult,
): Promise<RecordedDelivery> {
  const isDelivered = result.outcome === 'delivered';
  // The destination is locked before the event, as everywhere.
  const destination =
    isDelivered && event.isHealthy
      ? undefined
      : await recordAtDestination(tx, event, result);
  const wasOpen = await recordAtEvent(tx, event, result);
  if (!wasOpen) return { isClosed: false, needsLook: false };
  if (event.isProbe)
    await (isDelivered
      ? endHold(tx, event)
      : deadLetterHeld(tx, event.destinationId));
  if (result.outcome === 'failed') {
    return {
      isClosed: false,
      needsLook: !looksInTime(destination, result.nextAttemptMs ?? 0),
    };
  }
  return { isClosed: true, needsLook: false };
}

async function recordAtEvent(
  tx: AccountTx,
  event: Pick<OpenEvent, 'id' | 'isProbe'>,
  result: AttemptResult,
): Promise<boolean> {
  // Attempts are numbered on if the event is replayed, although its schedule
  // then starts again. No row if the event is gone.
  await sql`
    insert into event_attempt (event_id, attempt, account_id, http_status, outcome)
    select id, (select count(*) + 1 from event_attempt where event_id = event.id), account_id,
      ${result.httpStatus ?? null}::int, ${result.note}
    from event where id = ${event.id}
    on conflict do nothing
  `.execute(tx.db);
  const { numUpdatedRows } = await tx.db
    .updateTable('event')
    .set({
      status: result.outcome === 'failed' ? 'pending' : result.outcome,
      delivered_at: result.outcome === 'delivered' ? NOW : null,
      // The schedule of a held destination's event stands still.
      ...(!event.isProbe && {
        next_attempt_at:
          result.nextAttemptMs === undefined
            ? null
            : nowPlus(result.nextAttemptMs),
      }),
    })
    .where('id', '=', event.id)
    .where('status', 'in', ['pending', 'delivering'])
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Records a success or a failure in the destination; enough failures of
 * different events hold it.
 */
async function recordAtDestination(
  tx: AccountTx,
  event: Pick<OpenEvent, 'id' | 'destinationId' | 'isProbe'>,
  { outcome, retryAfterMs }: AttemptResult,
): Promise<DestinationTimes | undefined> {
  const health = outcome === 'delivered' ? 'healthy' : 'failing';
  const changed = {
    health: sql<
      typeof health
    >`case when health = 'disabled' then health else ${health} end`,
    health_at: sql<Date>`case when health in (${health}, 'disabled') then health_at else now() end`,
  };
  const update = tx.db
    .updateTable('webhook_destination')
    .where('id', '=', event.destinationId);
  if (outcome === 'delivered') {
    await update
      .set({
        ...changed,
        failures: 0,
        failed_event: null,
        held_since: null,
        held_until: null,
      })
      .execute();
    return undefined;
  }
  // Attempts that were in progress when the destination was held do not count.
  const counts = event.isProbe
    ? sql<boolean>`true`
    : sql<boolean>`(held_until is null and failed_event is distinct from ${event.id}::uuid)`;
  const row = await update
    .set({
      ...changed,
      failures: sql<number>`failures + case when ${counts} then 1 else 0 end`,
      failed_event: event.id,
    })
    .returning([
      'failures',
      'held_since',
      'held_until',
      'looks_at',
      NOW.as('now'),
    ])
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { held_until: heldUntil, looks_at: looksAt, now } = row;
  const waitMs = holdMs(row.failures, Math.random(), retryAfterMs);
  if (waitMs === undefined) return { heldUntil, looksAt, now };
  // Also after an attempt that was in progress when the destination was held:
  // its event may be the one that is sent next.
  const until = new Date(now.getTime() + waitMs);
  if (heldUntil !== null && heldUntil > until && !event.isProbe)
    return { heldUntil, looksAt, now };
  await tx.db
    .updateTable('webhook_destination')
    .set({ held_since: row.held_since ?? now, held_until: until })
    .where('id', '=', event.destinationId)
    .execute();
  return { heldUntil: until, looksAt, now };
}

/**
 * Times of a destination, all by PostgreSQL's clock: several processes compare
 * them.
 */
interface DestinationTimes {
  heldUntil: Date | null;
  looksAt: Date | null;
  now: Date;
}

/** After an outage, all events of the destination are due. */
async function endHold(
  tx: AccountTx,
  { destinationId, heldSince }: Pick<OpenEvent, 'destinationId' | 'heldSince'>,
): Promise<void> {
  if (heldSince !== null)
    await makeDue(
      tx,
      destinationId,
      sql<boolean>`${heldSince}::timestamptz <= ${nowPlus(-OUTAGE_MIN_MS)}`,
    );
}

/**
 * Lets all pending events of a destination be sent now, whatever their
 * schedules.
 */
export async function makeDue(
  tx: AccountTx,
  destinationId: string,
  condition = sql<boolean>`true`,
): Promise<void> {
  await tx.db
    .updateTable('event')
    .set({ next_attempt_at: null })
    .where(({ and }) =>
      and({ destination_id: destinationId, status: 'pending' }),
    )
    .where('next_attempt_at', 'is not', null)
    .where(condition)
    .execute();
}

/**
 * Dead-letters the events of a held destination that have waited as long as ten
 * attempts would have taken.
 */
async function deadLetterHeld(
  tx: AccountTx,
  destinationId: string,
): Promise<void> {
  await tx.db
    .updateTable('event')
    .set({ status: 'dead' })
    .where(({ and }) =>
      and({ destination_id: destinationId, status: 'pending' }),
    )
    .where('opened_at', '<', nowPlus(-HELD_EVENT_MAX_MS))
    .execute();
}

/**
 * Whether the destination's workflow looks at the events when the next one is
 * due, or before.
 */
function looksInTime(
  times: DestinationTimes | undefined,
  nextAttemptMs: number,
): boolean {
  if (times?.looksAt == null) return false;
  const { looksAt, heldUntil } = times;
  const nowMs = times.now.getTime();
  const dueMs = heldUntil?.getTime() ?? nowMs + nextAttemptMs;
  return looksAt.getTime() >= nowMs - LOOK_MAX_MS && looksAt.getTime() <= dueMs;
}

/**
 * Disables a destination that responded 410, until the caller sets its URL
 * again. Its open events are dead-lettered.
 */
export async function disableDestination(
  tx: AccountTx,
  destinationId: string,
): Promise<void> {
  await tx.db
    .updateTable('webhook_destination')
    .set({ health: 'disabled', health_at: NOW })
    .where('id', '=', destinationId)
    .execute();
  await tx.db
    .updateTable('event')
    .set({ status: 'dead' })
    .where('destination_id', '=', destinationId)
    .where('status', 'in', ['pending', 'delivering'])
    .execute();
}
