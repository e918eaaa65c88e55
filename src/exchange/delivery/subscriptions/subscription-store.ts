import { type Selectable, sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import { sqlFile } from '../../platform/database/pg-arrays.ts';
import type { Database } from '../../platform/database/schema.ts';
import { LAST_RESULT } from '../../platform/outbox/delivery-record-store.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import type { Standing } from './rules/notification.ts';
import type {
  SubscriptionRequest,
  SubscriptionResource,
} from './rules/subscription-request.ts';

const READ = sqlFile('read-subscriptions.sql', import.meta.url);
const INSERT = sqlFile('insert-subscription.sql', import.meta.url);
const REPLACE = sqlFile('replace-subscription.sql', import.meta.url);
const NUMBERED = sqlFile('numbered-events.sql', import.meta.url);

/**
 * A subscription with its status. It is in error while the last notification to
 * it, or its handshake, has not been accepted.
 */
export interface StoredSubscription
  extends Omit<Selectable<Database['fhir_subscription']>, 'filters'>,
    Pick<Standing, 'status' | 'error'> {
  content: Standing['content'];
  /** `channel.header`, encrypted. */
  headers: string;
}

/** What subscriptions are searched by, besides the caller. */
export const SEARCHED = ['_id', 'url', 'status', 'criteria'] as const;
export type SubscriptionSearch = Partial<
  Record<(typeof SEARCHED)[number], readonly string[]>
>;

/**
 * The subscriptions of the account, or of one caller, that match the search,
 * oldest first.
 */
export async function readSubscriptions(
  tx: AccountTx,
  { _id: id, url, status, criteria }: SubscriptionSearch,
  actor?: string,
): Promise<StoredSubscription[]> {
  const wanted = { id, url, status, criteria, actor, lastResult: LAST_RESULT };
  return (await READ<StoredSubscription>(wanted).execute(tx.db)).rows;
}

/**
 * How many codes the filters of the account's subscriptions compare, without
 * those of `but`.
 */
export async function countCodes(tx: AccountTx, but?: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce(sum(codes), 0)::bigint as count from subscription_filter
    where account_id = ${tx.accountId} and subscription_id is distinct from ${but ?? null}::uuid`.execute(
    tx.db,
  );
  return rows[0]?.count ?? 0;
}

/**
 * What is stored of a Subscription: its creator, the scopes of the token and
 * the types that they permit to read (null: all), and its headers, encrypted.
 */
export interface NewSubscription {
  request: SubscriptionRequest;
  resource: SubscriptionResource;
  headers: string;
  actor: string;
  scopes: readonly string[] | null;
  types: readonly string[] | null;
}

/**
 * Stores a subscription with its webhook destination, and writes the handshake
 * into the outbox. With the id of one it replaces that: its numbers go on, and
 * what waits is sent after the handshake. Returns its id.
 */
export async function storeSubscription(
  tx: AccountTx,
  { request, resource, ...of }: NewSubscription,
  known?: string,
): Promise<string> {
  const id = known ?? uuidv7();
  const { topic, filters, isOff, ...options } = request;
  await (known === undefined ? INSERT : REPLACE)({
    ...options,
    ...of,
    id,
    accountId: tx.accountId,
    topic: topic.id,
    url: resource.channel.endpoint,
    resource: JSON.stringify(resource),
    filters: JSON.stringify(filters),
    health: isOff ? 'disabled' : 'unknown',
  }).execute(tx.db);
  if (!isOff) await insertSignal(tx, id, 'handshake');
  return id;
}

/** Deletes a subscription with its events. */
export async function deleteSubscription(
  tx: AccountTx,
  id: string,
): Promise<void> {
  // In the order of `announce_changes`: the subscription, then its destination.
  await sql`select from fhir_subscription where id = ${id} for update`.execute(
    tx.db,
  );
  await sql`delete from webhook_destination where id = ${id}`.execute(tx.db);
}

/**
 * Writes a handshake or a heartbeat into the outbox. Only the newest of each is
 * kept.
 */
async function insertSignal(
  tx: AccountTx,
  id: string,
  kind: 'handshake' | 'heartbeat',
): Promise<void> {
  const type = `subscription.${kind}`;
  await sql`delete from event where destination_id = ${id} and type = ${type}`.execute(
    tx.db,
  );
  const event = {
    type,
    factKey: `${type}/${uuidv7()}`,
    occurredAt: new Date(),
    body: { meta: { type } },
  };
  await insertEvent(tx, event, { destinationId: id });
}

/**
 * Records that the endpoint accepted the handshake, or why the subscription
 * ends.
 */
export async function markSubscription(
  tx: AccountTx,
  id: string,
  endedBecause?: string,
): Promise<void> {
  const verified = endedBecause === undefined ? sql`now()` : sql`verified_at`;
  await sql`update fhir_subscription set ended_because = ${endedBecause ?? null}, verified_at = ${verified}
    where id = ${id}`.execute(tx.db);
}

/** SQL: the next heartbeat of the subscription `s` is due. */
const IS_DUE = sql`s.heartbeat_at + s.heartbeat_seconds * interval '1 second' <= now()`;

/**
 * Verified subscriptions of all accounts whose next heartbeat is due; not those
 * whose endpoint is held.
 */
export async function dueHeartbeats(tx: SystemTx, limit: number) {
  const { rows } = await sql<{ id: string; accountId: string; since: Date }>`
    select s.id, s.account_id as "accountId", s.heartbeat_at as since
    from fhir_subscription s join webhook_destination d on d.id = s.id
    where ${IS_DUE} and s.verified_at is not null and d.health <> 'disabled' and d.held_until is null
    order by s.heartbeat_at limit ${limit}`.execute(tx.db);
  return rows;
}

/** Sends a heartbeat; false if another process has done so. */
export async function sendHeartbeat(
  tx: AccountTx,
  id: string,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update fhir_subscription s set heartbeat_at = now() where id = ${id} and ${IS_DUE}`.execute(
    tx.db,
  );
  if (numAffectedRows !== 1n) return false;
  await insertSignal(tx, id, 'heartbeat');
  return true;
}

/** A row of the outbox with events of a subscription. */
export interface NumberedRow {
  patientId: string;
  /** The number of the last of the events. */
  number: number;
  at: Date;
  events: { focus: { type: string; id: string }; triggers: string[] }[];
}

/**
 * Rows of a subscription whose last event is `since` or later, in order; with
 * `eventId` that one.
 */
export const readNumbered = async (
  tx: AccountTx,
  of: { id: string; since: number; limit: number; eventId?: string },
): Promise<NumberedRow[]> =>
  (await NUMBERED<NumberedRow>({ eventId: null, ...of }).execute(tx.db)).rows;

/** Whether nothing of the patient's record is withheld now. */
export async function isAllShown(
  tx: AccountTx,
  patientId: string,
): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select denied_labels(${tx.accountId}, ${patientId}) = '{}' as is`.execute(
    tx.db,
  );
  return rows[0]?.is === true;
}
