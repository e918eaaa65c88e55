import { sql } from 'kysely';
import type { AccountTx, SystemTx } from '../database/database.ts';
import { sqlFile } from '../database/pg-arrays.ts';
import {
  IN_HAND_MS,
  IS_DUE,
  NO_EARLIER_OPEN,
  NOW,
  nowPlus,
} from './claim-store.ts';
import { LOOK_MAX_MS, makeDue } from './delivery-record-store.ts';

const OVERDUE = sqlFile('overdue-destinations.sql', import.meta.url);

/** What a destination's workflow does after it has looked at the events. */
export type Look =
  /** No event is open; it ends. */
  | { state: 'empty' }
  /** More events are due; it continues at once. */
  | { state: 'due' }
  /** `held`: the destination fails; its next event is a probe. */
  | { state: 'waiting'; untilMs: number; held: boolean };

/**
 * Records that the destination's workflow looks at the events. With `dueNow`,
 * all of them are due, and so is a probe.
 */
export async function beginLook(
  tx: AccountTx,
  destinationId: string,
  dueNow: boolean,
): Promise<void> {
  await tx.db
    .updateTable('webhook_destination')
    .set({ looks_at: NOW })
    .where('id', '=', destinationId)
    .execute();
  if (!dueNow) return;
  await tx.db
    .updateTable('webhook_destination')
    .set({ held_until: NOW })
    .where('id', '=', destinationId)
    .where('held_until', 'is not', null)
    .execute();
  await makeDue(tx, destinationId);
}

/**
 * Returns when the destination's workflow looks again, and records it.
 * Transactions that record failures lock the destination too: either this one
 * sees their event, or they see that the workflow looks too late or not at all.
 */
export async function endLook(
  tx: AccountTx,
  destinationId: string,
): Promise<Look> {
  const destination = await tx.db
    .selectFrom('webhook_destination')
    .select(['url', 'key', 'health', 'held_until'])
    .where('id', '=', destinationId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  const takesEvents =
    destination?.url != null &&
    destination.key !== null &&
    destination.health !== 'disabled';
  const look = takesEvents
    ? await nextLook(tx, destinationId, destination.held_until)
    : { state: 'empty' as const };
  const looksAt =
    look.state === 'empty'
      ? null
      : look.state === 'due'
        ? NOW
        : new Date(look.untilMs);
  const released = {
    failures: 0,
    failed_event: null,
    held_since: null,
    held_until: null,
  };
  await tx.db
    .updateTable('webhook_destination')
    .set({ looks_at: looksAt, ...(look.state === 'empty' && released) })
    .where('id', '=', destinationId)
    .execute();
  return look;
}

async function nextLook(
  tx: AccountTx,
  destinationId: string,
  heldUntil: Date | null,
): Promise<Look> {
  const open = tx.db
    .selectFrom('event as e')
    .where('e.destination_id', '=', destinationId)
    .where('e.status', 'in', ['pending', 'delivering']);
  const found = (row: object | undefined): boolean => row !== undefined;
  if (heldUntil !== null) {
    if (!found(await open.select('e.id').limit(1).executeTakeFirst()))
      return { state: 'empty' };
    return { state: 'waiting', untilMs: heldUntil.getTime(), held: true };
  }
  const due = open.where(IS_DUE).where(NO_EARLIER_OPEN).select('e.id').limit(1);
  if (found(await due.executeTakeFirst())) return { state: 'due' };
  const next = await open
    .where(NO_EARLIER_OPEN)
    .select(
      sql<Date | null>`min(case e.status when 'delivering'
        then e.last_attempt_at + ${IN_HAND_MS} * interval '1 millisecond' else coalesce(e.next_attempt_at, now()) end)`.as(
        'at',
      ),
    )
    .executeTakeFirst();
  return next?.at == null
    ? { state: 'empty' }
    : { state: 'waiting', untilMs: next.at.getTime(), held: false };
}

/**
 * Destinations of all accounts with events that should have been sent `graceMs`
 * ago, while no workflow is sending them. An event that waits for an earlier
 * one of its patient, for its next attempt or for a held destination is not
 * overdue.
 */
export async function overdueDestinations(
  tx: SystemTx,
  options: { graceMs: number; limit: number },
): Promise<{ accountId: string; destinationId: string; since: Date }[]> {
  const { rows } = await OVERDUE<{
    account_id: string;
    id: string;
    since: Date;
  }>({
    before: nowPlus(-options.graceMs),
    lookedAfter: nowPlus(-LOOK_MAX_MS),
    noEarlierOpen: NO_EARLIER_OPEN,
    limit: options.limit,
  }).execute(tx.db);
  return rows.map(({ account_id: accountId, id, since }) => ({
    accountId,
    destinationId: id,
    since,
  }));
}
