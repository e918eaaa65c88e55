import { type Selectable, sql } from 'kysely';
import {
  MESSAGE_SORT,
  type Message,
  type TransportMethod,
} from '../../../contract/messages.ts';
import { externalIdOf } from '../../people/patients/patient-store.ts';
import {
  columnsOf,
  type Members,
  membersOf,
} from '../../platform/database/columns.ts';
import type { AccountTx, SystemTx } from '../../platform/database/database.ts';
import {
  type CountedPage,
  newestFirst,
  type PageRequest,
  readCountedPage,
} from '../../platform/database/page.ts';
import type { Database } from '../../platform/database/schema.ts';
import { workflowRows } from '../../platform/workflows/workflow-rows.ts';
import { isDocumentTakenBack } from '../../records/deliveries/delivery-store.ts';

const EXTERNAL_ID = externalIdOf('message.patient_id');

/** `externalId`: the caller's own id of the patient. */
export type StoredMessage = Members<'message'> & { externalId: string | null };

export type NewMessage = Omit<
  StoredMessage,
  | 'externalId'
  | 'reason'
  | 'sentAt'
  | 'updatedAt'
  | 'accountId'
  | 'workflowStartedAt'
  | 'partnerKey'
  | 'toBeRead'
> & {
  /** Hash of the sender's id of an inbound message. */
  partnerKey?: Buffer;
  /**
   * Its attachments are to be converted and merged into the patient's record.
   */
  toBeRead?: boolean;
};

/**
 * Inserts a message. Returns undefined when an inbound message is already
 * stored.
 */
export async function insertMessage(
  tx: AccountTx,
  message: NewMessage,
): Promise<StoredMessage | undefined> {
  const row = await tx.db
    .insertInto('message')
    .values(columnsOf({ ...message, accountId: tx.accountId }))
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'partner_key']).doNothing(),
    )
    .returningAll()
    .returning(EXTERNAL_ID)
    .executeTakeFirst();
  return row && toMessage(row);
}

/** An inbound message by the hash of its sender's id. */
export function findBySenderKey(
  tx: AccountTx,
  senderKey: Buffer,
): Promise<{ id: string; patientId: string | null } | undefined> {
  return tx.db
    .selectFrom('message')
    .select(['id', 'patient_id as patientId'])
    .where('partner_key', '=', senderKey)
    .executeTakeFirst();
}

export async function findMessage(
  tx: AccountTx,
  id: string,
): Promise<StoredMessage | undefined> {
  const query = tx.db
    .selectFrom('message')
    .selectAll()
    .select(EXTERNAL_ID)
    .where('id', '=', id);
  const row = await query.executeTakeFirst();
  return row && toMessage(row);
}

type MessageFilter = Partial<
  Pick<Message, 'direction' | 'patientId' | 'destination' | 'status'>
>;

export const MESSAGE_ORDER = newestFirst(
  MESSAGE_SORT,
  'message.sent_at',
  'message.id',
);

/**
 * A page of the messages that match the filter, and how many match in total.
 */
export async function listMessages(
  tx: AccountTx,
  { direction, patientId, destination, status }: MessageFilter,
  request: PageRequest,
): Promise<CountedPage<StoredMessage>> {
  let matching = tx.db.selectFrom('message');
  if (direction !== undefined)
    matching = matching.where('direction', '=', direction);
  if (patientId !== undefined)
    matching = matching.where('patient_id', '=', patientId);
  if (destination !== undefined)
    matching = matching.where('destination', '=', destination);
  if (status !== undefined) matching = matching.where('status', '=', status);
  const page = await readCountedPage(
    tx.db,
    matching.selectAll('message').select(EXTERNAL_ID),
    MESSAGE_ORDER,
    request,
  );
  return { ...page, items: page.items.map(toMessage) };
}

/**
 * Processing → completed or failed. Undefined when the message had already
 * ended, or was deleted with its patient.
 */
export async function endMessage(
  tx: AccountTx,
  id: string,
  end: { status: 'completed' } | { status: 'failed'; reason: string },
): Promise<StoredMessage | undefined> {
  const row = await tx.db
    .updateTable('message')
    .set({
      status: end.status,
      reason: end.status === 'failed' ? end.reason : null,
      updated_at: sql<Date>`now()`,
    })
    .where(({ and }) =>
      and({ id, direction: 'outbound', status: 'processing' }),
    )
    .returningAll()
    .returning(EXTERNAL_ID)
    .executeTakeFirst();
  return row && toMessage(row);
}

/**
 * Completed → failed, of an outbound message. Undefined when it was not
 * completed.
 */
export async function failCompletedMessage(
  tx: AccountTx,
  id: string,
  reason: string,
): Promise<StoredMessage | undefined> {
  const row = await tx.db
    .updateTable('message')
    .set({ status: 'failed', reason, updated_at: sql<Date>`now()` })
    .where(({ and }) => and({ id, direction: 'outbound', status: 'completed' }))
    .returningAll()
    .returning(EXTERNAL_ID)
    .executeTakeFirst();
  return row && toMessage(row);
}

/** Outbound messages, as rows with a workflow. */
export const transmissionRows = workflowRows<{ messageId: string }>({
  table: 'message',
  ids: { messageId: 'id' },
  since: 'sent_at',
  open: sql`direction = 'outbound' and status = 'processing'`,
});

/**
 * The accounts that receive at a destination: the OID of an active facility, or
 * a Direct address in the settings.
 */
export async function accountsAt(
  tx: SystemTx,
  transport: TransportMethod,
  destination: string,
): Promise<string[]> {
  if (transport === 'xdr') {
    const rows = await tx.db
      .selectFrom('facility')
      .select('account_id')
      .distinct()
      .where(({ and }) => and({ oid: destination, active: true }))
      .execute();
    return rows.map(({ account_id }) => account_id);
  }
  const address = JSON.stringify([destination.toLowerCase()]);
  const rows = await tx.db
    .selectFrom('account')
    .select('id')
    .where(
      sql<boolean>`settings -> 'messages' -> 'directAddresses' @> ${address}::jsonb`,
    )
    .execute();
  return rows.map(({ id }) => id);
}

/** Those of the OIDs that are active facilities of the account, in their order. */
export async function facilitiesAt(
  tx: AccountTx,
  oids: readonly string[],
): Promise<string[]> {
  if (oids.length === 0) return [];
  const rows = await tx.db
    .selectFrom('facility')
    .select('oid')
    .where(({ and }) => and({ account_id: tx.accountId, active: true }))
    .where('oid', 'in', [...oids])
    .execute();
  const found = new Set(rows.map(({ oid }) => oid));
  return oids.filter((oid) => found.has(oid));
}

type AttachedDocument = Pick<
  Members<'document'>,
  'id' | 'fileName' | 'contentType' | 'sizeBytes' | 'blobRef' | 'createdAt'
>;

/**
 * The patient's documents among these ids, without those taken back or
 * withheld, in the order of the ids.
 */
export async function documentsOfPatient(
  tx: AccountTx,
  patientId: string,
  ids: readonly string[],
): Promise<AttachedDocument[]> {
  if (ids.length === 0) return [];
  const rows = await tx.db
    .selectFrom('document')
    .select([
      'id',
      'file_name as fileName',
      'content_type as contentType',
      'blob_ref as blobRef',
    ])
    .select(['size_bytes as sizeBytes', 'created_at as createdAt'])
    .where('patient_id', '=', patientId)
    .where('id', 'in', [...ids])
    .where(
      sql<boolean>`not ${isDocumentTakenBack('document')}
        and not is_withheld(document, (select array(select withheld_resources(${tx.accountId}, ${patientId}))))`,
    )
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

const toMessage = (
  row: Selectable<Database['message']> & { external_id: string | null },
): StoredMessage => membersOf(row);

/** A message as responses and webhooks carry it. */
export function serializeMessage(message: StoredMessage): Message {
  const { attachments, intendedRecipientNpi } = message;
  return {
    id: message.id,
    patientId: message.patientId ?? undefined,
    externalId: message.externalId ?? undefined,
    direction: message.direction,
    status: message.status,
    transportMethod: message.transportMethod,
    network: message.network ?? undefined,
    destination: message.destination,
    subject: message.subject,
    body: message.body ?? undefined,
    attachments: attachments.length === 0 ? undefined : attachments,
    intendedRecipientNpi:
      intendedRecipientNpi.length === 0 ? undefined : intendedRecipientNpi,
    sentAt: message.sentAt.toISOString(),
    updatedAt: message.updatedAt.toISOString(),
    reason: message.reason ?? undefined,
  };
}
