import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { BlobRef } from '../../../shared/blobs/blob-store.ts';
import { columnsOf, type Members } from '../../platform/database/columns.ts';
import type { SystemTx } from '../../platform/database/database.ts';
import type { InboundMessage } from './inbound.ts';
import type { EncounterEvent } from './rules/encounter-event.ts';
import type { InboundOutcome } from './tables.ts';

export interface NewInboundMessage
  extends Pick<
    InboundMessage,
    'trigger' | 'recordedAt' | 'sentAt' | 'unused' | 'filled' | 'ownCodes'
  > {
  id: string;
  sender: string;
  messageKey: Buffer;
  /**
   * A key of the sender's id alone. Messages with the same one and another
   * `messageKey` say something else under a number used before.
   */
  controlKey: Buffer;
  format: 'hl7v2' | 'fhir';
  kind:
    | 'encounter'
    | 'pharmacy'
    | 'laboratory'
    | 'clinical'
    | 'merge'
    | 'person';
  content: BlobRef;
  timeZone: string;
}

/** Whether the sender has sent this message before. */
export async function isKnownInboundMessage(
  tx: SystemTx,
  { sender, messageKey }: { sender: string; messageKey: Buffer },
): Promise<boolean> {
  const { rows } = await sql`
    select from inbound_message where sender = ${sender} and message_key = ${messageKey} limit 1`.execute(
    tx.db,
  );
  return rows.length > 0;
}

/**
 * Inserts a message. Undefined when this sender has sent it before; otherwise
 * whether its number was used before, for a message that says something else.
 */
export async function insertInboundMessage(
  tx: SystemTx,
  message: NewInboundMessage,
): Promise<{ isNumberReused: boolean } | undefined> {
  const row = await tx.db
    .insertInto('inbound_message')
    .values({
      ...columnsOf(message),
      is_number_reused: sql<boolean>`exists (select from inbound_message
        where sender = ${message.sender} and control_key = ${message.controlKey} and message_key <> ${message.messageKey})`,
      recorded_at: new Date(message.recordedAt),
      sent_at: message.sentAt === undefined ? null : new Date(message.sentAt),
      content: JSON.stringify(message.content),
      unused: [...(message.unused ?? [])],
      outcome: 'unmatched',
    })
    .onConflict((conflict) =>
      conflict.columns(['sender', 'message_key']).doNothing(),
    )
    .returning('is_number_reused as isNumberReused')
    .executeTakeFirst();
  return row;
}

export async function setOutcome(
  tx: SystemTx,
  messageId: string,
  outcome: InboundOutcome,
): Promise<void> {
  await tx.db
    .updateTable('inbound_message')
    .set({ outcome })
    .where('id', '=', messageId)
    .execute();
}

/**
 * Locks a sender until the transaction ends: `alone` for a merge of records,
 * `shared` for all other messages. The first lock of the transaction;
 * `messagesBeingMatched` waits for it.
 */
export async function lockSender(
  tx: SystemTx,
  sender: string,
  mode: 'shared' | 'alone',
): Promise<void> {
  await sql`select pg_advisory_xact_lock_shared(hashtextextended(${MATCHING}, 0))`.execute(
    tx.db,
  );
  const id = sql`hashtextextended(${`inbound/${sender}`}, 0)`;
  await (mode === 'alone'
    ? sql`select pg_advisory_xact_lock(${id})`
    : sql`select pg_advisory_xact_lock_shared(${id})`
  ).execute(tx.db);
}

const MATCHING = 'inbound-matching';

/**
 * Waits until every transaction that is matching a message has ended, so that
 * what it did not see (a patient who was being created) sees it. Run it in a
 * transaction of its own: new ones wait for it.
 */
export async function messagesBeingMatched(tx: SystemTx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${MATCHING}, 0))`.execute(
    tx.db,
  );
}

/**
 * Inserts the subject if it is new, and locks its row until the transaction
 * ends. Returns its id.
 */
export async function lockSubject(
  tx: SystemTx,
  subject: Pick<StoredSubject, 'sender' | 'kind' | 'sourceKey'>,
): Promise<string> {
  const { id } = await tx.db
    .insertInto('inbound_subject')
    .values(columnsOf({ id: uuidv7(), ...subject }))
    .onConflict((conflict) =>
      conflict
        .columns(['sender', 'kind', 'source_key'])
        .doUpdateSet({ updated_at: sql<Date>`now()` }),
    )
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}

/**
 * Locks a subject's row until the transaction ends. Returns false when the
 * subject no longer exists.
 */
export async function lockExistingSubject(
  tx: SystemTx,
  id: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('inbound_subject')
    .select('id')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  return row !== undefined;
}

/** The id of the first of these subjects that there is. */
export async function firstSubject(
  tx: SystemTx,
  subjects: readonly Pick<StoredSubject, 'sender' | 'kind' | 'sourceKey'>[],
): Promise<string | undefined> {
  for (const { sender, kind, sourceKey } of subjects) {
    const row = await tx.db
      .selectFrom('inbound_subject')
      .select('id')
      .where('sender', '=', sender)
      .where('kind', '=', kind)
      .where('source_key', '=', sourceKey)
      .executeTakeFirst();
    if (row !== undefined) return row.id;
  }
  return undefined;
}

/**
 * The subjects about which a message came in the last 90 days, among these and
 * in their order.
 */
export async function recentOf(
  tx: SystemTx,
  ids: readonly string[],
): Promise<string[]> {
  const rows = await tx.db
    .selectFrom('inbound_subject')
    .select('id')
    .where('id', '=', sql<string>`any(${[...ids]}::uuid[])`)
    .where('updated_at', '>', sql<Date>`now() - interval '90 days'`)
    .execute();
  const recent = new Set(rows.map(({ id }) => id));
  return ids.filter((id) => recent.has(id));
}

export async function insertInboundEvent(
  tx: SystemTx,
  event: {
    subjectId: string;
    messageId: string;
    recordKey?: Buffer;
    describesPerson: boolean;
    /** It does not count until somebody has decided. */
    isHeld: boolean;
    content: object;
  },
): Promise<void> {
  await tx.db
    .insertInto('inbound_event')
    .values({ ...columnsOf(event), content: JSON.stringify(event.content) })
    .execute();
}

/** `messageKey`: in hex. */
export interface StoredInboundEvent
  extends Pick<
    EncounterEvent,
    'messageKey' | 'arrival' | 'recordedAt' | 'sentAt'
  > {
  messageId: string;
  recordKey: Buffer | null;
  describesPerson: boolean;
  content: Record<string, unknown>;
}

export interface StoredSubject
  extends Pick<
    Members<'inbound_subject'>,
    'id' | 'sender' | 'kind' | 'sourceKey' | 'state' | 'personKeys'
  > {
  events: StoredInboundEvent[];
}

/** A subject with the events of all its messages that are not held. */
export async function readSubject(
  tx: SystemTx,
  id: string,
): Promise<StoredSubject> {
  const subject = await tx.db
    .selectFrom('inbound_subject')
    .select(['id', 'sender', 'kind', 'source_key as sourceKey', 'state'])
    .select('person_keys as personKeys')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const rows = await tx.db
    .selectFrom('inbound_event as e')
    .innerJoin('inbound_message as m', 'm.id', 'e.message_id')
    .select([
      'm.id',
      'm.message_key',
      'm.recorded_at',
      'm.sent_at',
      'm.received_at',
    ])
    .select(['e.record_key', 'e.describes_person', 'e.content'])
    .where('e.subject_id', '=', id)
    .where('e.is_held', '=', false)
    .execute();
  return {
    ...subject,
    events: rows.map((row) => ({
      messageId: row.id,
      messageKey: row.message_key.toString('hex'),
      // The clock of the database, then of the process: ids are UUIDs of
      // version 7.
      arrival: `${row.received_at.toISOString()} ${row.id}`,
      recordedAt: row.recorded_at.toISOString(),
      sentAt: row.sent_at?.toISOString(),
      recordKey: row.record_key,
      describesPerson: row.describes_person,
      content: row.content,
    })),
  };
}

export async function saveSubject(
  tx: SystemTx,
  id: string,
  {
    state,
    recordKey,
    matchKeys,
    personKeys,
  }: {
    state: object;
    recordKey: Buffer | null;
    matchKeys: Buffer[];
    personKeys: Buffer[];
  },
): Promise<void> {
  await tx.db
    .updateTable('inbound_subject')
    .set({
      state: JSON.stringify(state),
      record_key: recordKey,
      match_keys: matchKeys,
      person_keys: personKeys,
    })
    .where('id', '=', id)
    .execute();
}

/**
 * For each person whom the subjects of a record are about, and of those merged
 * into it, the newest subject.
 */
export async function personsUnderRecord(
  tx: SystemTx,
  { sender, recordKey }: { sender: string; recordKey: Buffer },
): Promise<Pick<StoredSubject, 'id' | 'personKeys'>[]> {
  const { rows } = await sql<Pick<StoredSubject, 'id' | 'personKeys'>>`
    with recursive chain(key) as (
      select ${recordKey}::bytea
      union
      select m.prior_key from inbound_merge m join chain c on m.surviving_key = c.key where m.sender = ${sender}
    )
    select distinct on (s.person_keys) s.id, s.person_keys as "personKeys"
    from inbound_subject s join chain c on s.record_key = c.key where s.sender = ${sender}
    order by s.person_keys, s.updated_at desc
  `.execute(tx.db);
  return rows;
}

/** The format and sender of a message, and the blob with its original bytes. */
export async function readMessageContent(
  tx: SystemTx,
  id: string,
): Promise<{ format: 'hl7v2' | 'fhir'; sender: string; content: BlobRef }> {
  return tx.db
    .selectFrom('inbound_message')
    .select(['format', 'sender', 'content'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
}

/**
 * Messages without a matching patient, newest first, except those whose subject
 * was matched later. For operators.
 */
export async function listUnmatched(tx: SystemTx, limit: number) {
  return tx.db
    .selectFrom('inbound_message as m')
    .select([
      'm.id',
      'm.sender',
      'm.kind',
      'm.trigger',
      'm.outcome',
      'm.received_at as receivedAt',
    ])
    .where('m.outcome', 'in', ['unmatched', 'ambiguous', 'incomplete'])
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('inbound_event as e')
            .innerJoin('notification as n', 'n.subject_id', 'e.subject_id')
            .select('n.id')
            .whereRef('e.message_id', '=', 'm.id'),
        ),
      ),
    )
    .orderBy('m.received_at', 'desc')
    .orderBy('m.id')
    .limit(limit)
    .execute();
}
