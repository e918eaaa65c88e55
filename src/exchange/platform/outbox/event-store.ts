import { type RawBuilder, sql } from 'kysely';
import { v5 as uuidv5 } from 'uuid';
import { TEST_EVENT_TYPE } from '../../../contract/webhook-test.ts';
import type { AccountTx, Store } from '../database/database.ts';

export interface NewEvent {
  type: string;
  /**
   * Unique per account, so that a repeated step does not announce a fact twice.
   */
  factKey: string;
  /** Events of one patient are delivered in order. */
  patientId?: string;
  requestId?: string;
  occurredAt: Date;
  /**
   * The body without `meta.messageId` and without links, which are added when
   * it is sent.
   */
  body: { meta: Record<string, unknown> } & Record<string, unknown>;
}

/**
 * Any fixed UUID; it keeps these ids apart from others made by the same
 * algorithm.
 */
const MESSAGE_ID_NAMESPACE = '6f1ad6a4-1c0b-4d0e-9c58-4d9c6f1c2b7e';

/**
 * The message id of a fact. Derived from the fact, so that a fact that is
 * announced again after PostgreSQL was restored from an older backup has the id
 * under which receivers know it.
 */
const messageIdOf = (accountId: string, factKey: string): string =>
  uuidv5(`${accountId}/${factKey}`, MESSAGE_ID_NAMESPACE);

/**
 * Writes an event into the outbox, with a copy for each further destination
 * whose filter matches, and for each FHIR Subscription to it
 * (`announce_message` in 0210-subscriptions.sql). It is sent after the commit.
 * With `onlyTo` it goes to that destination only.
 *
 * @returns its id, or undefined when this fact (`factKey`) has an event already
 */
export async function insertEvent(
  tx: AccountTx,
  event: NewEvent,
  onlyTo?: { destinationId: string },
): Promise<string | undefined> {
  const id = messageIdOf(tx.accountId, event.factKey);
  const body = { ...event.body, meta: { messageId: id, ...event.body.meta } };
  const first =
    onlyTo === undefined
      ? sql`d.of_settings`
      : sql`d.id = ${onlyTo.destinationId}`;
  const { rows } = await sql<{ id: string; hasDestinations: boolean }>`
    with message as (
      insert into event (id, account_id, patient_id, destination_id, type, fact_key, request_id, body, occurred_at, status)
      select ${id}, ${tx.accountId}, ${event.patientId ?? null}::uuid, d.id, ${event.type}, ${event.factKey}, ${event.requestId ?? null}::uuid,
             ${JSON.stringify(body)}, ${event.occurredAt}, ${STATUS_AT_FIRST}
      from (select 1) as one left join webhook_destination d on d.account_id = ${tx.accountId} and ${first}
      on conflict (account_id, fact_key) where copy_of is null do nothing
      returning id, account_id, patient_id, type, fact_key, request_id, body, occurred_at
    )${onlyTo === undefined ? sql`, copies as (${copiesOf(sql`message`)})` : sql``}
    select id, announce_message(account_id, id, type, patient_id, body, occurred_at),
      exists (select from webhook_destination d where d.account_id = ${tx.accountId}
        and not (d.of_settings and d.url is null)) as "hasDestinations"
    from message
  `.execute(tx.db);
  const [written] = rows;
  // Of an account without destinations, nothing is looked up to be sent.
  if (written?.hasDestinations) tx.newEvents.push(written.id);
  return written?.id;
}

/*
 * A row of `event` is a message to one destination
 * (docs/decisions/0040-a-row-for-each-destination.md). For each further
 * destination the message is copied.
 */

/** Initial status of a row for destination `d`, which may be missing. */
const STATUS_AT_FIRST = sql`case when d.url is null or d.health = 'disabled' then 'unrouted' else 'pending' end`;

/**
 * Inserts copies of messages for all further destinations whose filters match,
 * unless they exist. Test events, and what is sent to a subscription only, are
 * not copied.
 *
 * @param messages rows of `event` that are not copies themselves
 */
function copiesOf(messages: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    insert into event (id, account_id, patient_id, destination_id, copy_of, type, fact_key, request_id, occurred_at, status)
    select gen_random_uuid(), m.account_id, m.patient_id, d.id, m.id, m.type, m.fact_key, m.request_id, m.occurred_at, ${STATUS_AT_FIRST}
    from ${messages} as m join webhook_destination d on d.account_id = m.account_id
    where not d.of_settings and m.type <> ${TEST_EVENT_TYPE} and not starts_with(m.type, 'subscription.') and exists (
      select from unnest(d.types) as wanted (type)
      where m.type = wanted.type or (wanted.type like '%*' and starts_with(m.type, rtrim(wanted.type, '*'))))
    on conflict (copy_of, destination_id) where copy_of is not null do nothing`;
}

/**
 * Inserts the missing copies of messages, by the current filters of the
 * destinations.
 */
export async function routeCopies(
  tx: AccountTx,
  messageIds: readonly string[],
): Promise<void> {
  const messages = sql`(select * from event where id = any(${[...messageIds]}::uuid[]) and copy_of is null)`;
  await copiesOf(messages).execute(tx.db);
}

/**
 * Rows of the outbox, or with `isWhole` messages with the rows of all their
 * destinations.
 */
export interface Unrouted {
  eventId: string;
  isWhole: boolean;
}

/** The rows of the outbox for each destination, in sending order. */
export type Routes = ReadonlyMap<string, readonly string[]>;

/**
 * The rows to send, of several accounts (`event_routes` in
 * 0591-one-statement.sql).
 *
 * @returns the routes of each account, in the order of the accounts
 */
export async function routesOf(
  store: Pick<Store, 'call'>,
  accounts: readonly { accountId: string; items: readonly Unrouted[] }[],
): Promise<Routes[]> {
  const asked = accounts.flatMap(({ accountId, items }, index) =>
    items.map((item) => ({ ...item, accountId, index })),
  );
  const rows = await store.call(
    sql<{ id: string; destination_id: string; index: number }>`
      select * from event_routes(${asked.map(({ index }) => index)}, ${asked.map(({ accountId }) => accountId)}::uuid[],
        ${asked.map(({ eventId }) => eventId)}::uuid[], ${asked.map(({ isWhole }) => isWhole)})`,
  );
  const routes = accounts.map(() => new Map<string, string[]>());
  for (const { id, destination_id: destinationId, index } of rows) {
    const eventIds = routes[index]?.get(destinationId);
    if (eventIds === undefined) routes[index]?.set(destinationId, [id]);
    else eventIds.push(id);
  }
  return routes;
}
