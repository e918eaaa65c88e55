import { sql } from 'kysely';
import { v5 as uuidv5 } from 'uuid';
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

/** Any fixed UUID; it keeps these ids apart from others made by the same algorithm. */
const MESSAGE_ID_NAMESPACE = '6f1ad6a4-1c0b-4d0e-9c58-4d9c6f1c2b7e';

/**
 * The message id of a fact. Derived from the fact, so that a fact that is announced again after PostgreSQL was restored from
 * an older backup has the id under which receivers know it.
 */
const messageIdOf = (accountId: string, factKey: string): string =>
  uuidv5(`${accountId}/${factKey}`, MESSAGE_ID_NAMESPACE);

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
  const id = messageIdOf(tx.accountId, event.factKey);
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
