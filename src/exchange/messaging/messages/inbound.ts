import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { boundedList, NAMES_MAX } from '../../../contract/bounds.ts';
import {
  MESSAGE_BODY_LENGTH_MAX,
  MESSAGE_NETWORKS,
  type TransportMethod,
  transportOf,
} from '../../../contract/messages.ts';
import { splitNames } from '../../../contract/primitives.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { findNamesakes } from '../../people/patients/patient-store.ts';
import { identityKeys } from '../../people/patients/rules/identity-keys.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { readCallback } from '../../platform/http/signed-callback.ts';
import { noteArrival } from '../../records/arrivals/arrival-store.ts';
import type { Arrivals } from '../../records/arrivals/arrivals.ts';
import {
  deliveredIn,
  documentOf,
  insertDocuments,
  insertSourcePatientIds,
  type NewDocument,
  upsertResources,
} from '../../records/deliveries/delivery-store.ts';
import { type ReceivedAttachment, readAttachments } from './attachments.ts';
import { announceMessage } from './launcher.ts';
import {
  accountOfMessage,
  accountsAt,
  insertMessage,
  isKnownPartnerMessage,
  type StoredMessage,
} from './message-store.ts';

const name = z.string().trim().min(1).max(200);
/** A space separates names, as in the names of a patient (E4). */
const names = boundedList(z.array(name).min(1), NAMES_MAX.parts).transform(
  (values) => values.flatMap(splitNames),
);
/**
 * The patient of the message: the source patient of the XDR submission set, or
 * the context of the Direct message.
 */
const personSchema = z.object({
  firstNames: names,
  lastNames: names,
  dob: z.iso.date(),
  gender: z.enum(['M', 'F', 'O', 'U']),
  zip: z
    .string()
    .max(20)
    .regex(/^\d{5}/),
});
/**
 * Removes the characters that PostgreSQL cannot store: NUL, and lone halves of
 * surrogate pairs.
 */
const storable = (text: string): string =>
  text.replaceAll(/[\0\p{Surrogate}]/gu, '');
const messageSchema = z.object({
  type: z.literal('message'),
  /**
   * The partner's id of the message; a repeated callback carries the same id.
   */
  messageId: z.string().min(1).max(500),
  destination: z
    .string()
    .max(400)
    .transform((value) => value.trim().replace(/^urn:oid:/i, ''))
    .refine((value) => transportOf(value) !== undefined),
  /** Required for XDR, not allowed for Direct. */
  network: z.enum(MESSAGE_NETWORKS).optional(),
  subject: z
    .string()
    .transform(storable)
    .pipe(z.string().trim().min(1).max(1_000)),
  body: z.string().max(MESSAGE_BODY_LENGTH_MAX).transform(storable).optional(),
  intendedRecipientNpi: boundedList(
    z.array(z.string().regex(/^\d{10}$/)),
    20,
  ).optional(),
  attachments: z.array(z.unknown()).optional(),
  patient: personSchema.optional(),
});
const callbackSchema = z.discriminatedUnion('type', [
  messageSchema,
  z.object({ type: z.literal('receipt'), reference: z.uuid() }),
]);
type InboundMessage = z.output<typeof messageSchema>;

export interface MessageCallbackDeps {
  store: Store;
  blobs: Pick<BlobStore, 'put' | 'delete'>;
  /** ID_HMAC_KEY, for matching a message's patient. */
  idHmacKey: string;
  arrivals: Pick<Arrivals, 'tell'>;
  receiptArrived(messageId: string): void;
}

/**
 * The response to a callback. A `problem` is returned to the partner as the
 * error message.
 */
export interface CallbackResponse {
  status: 200 | 400 | 404 | 409 | 413 | 422;
  problem?: string;
}

/**
 * Handles a callback of the transport partner whose signature was already
 * checked: an inbound message, or a receipt for an outbound one. Statuses: 200
 * accepted, or already known; 400 unreadable; 404 no account receives at this
 * destination, or no such message; 409 several accounts receive at this
 * destination; 413 or 422 the attachments are too large or invalid
 * (docs/decisions/0047-…).
 */
export async function handleMessageCallback(
  deps: MessageCallbackDeps,
  rawBody: Buffer,
): Promise<CallbackResponse> {
  const callback = readCallback(callbackSchema, rawBody);
  if (callback === undefined) return { status: 400 };
  if (callback.type === 'message') return handleMessage(deps, callback);
  const accountId = await deps.store.asSystem((tx) =>
    accountOfMessage(tx, callback.reference),
  );
  if (accountId === undefined) return { status: 404 };
  deps.receiptArrived(callback.reference);
  return { status: 200 };
}

async function handleMessage(
  deps: MessageCallbackDeps,
  message: InboundMessage,
): Promise<CallbackResponse> {
  const { store, blobs } = deps;
  const { destination, network } = message;
  const transportMethod = transportOf(destination);
  if (
    transportMethod === undefined ||
    (transportMethod === 'xdr') !== (network !== undefined)
  )
    return { status: 400 };
  const read = readAttachments(message.attachments ?? []);
  if (!('attachments' in read)) return read;
  const [accountId, ...others] = await store.asSystem((tx) =>
    accountsAt(tx, transportMethod, destination),
  );
  if (accountId === undefined) return { status: 404 };
  if (others.length > 0) return { status: 409 };
  const partnerKey = createHash('sha256').update(message.messageId).digest();
  if (
    await store.asAccount(accountId, (tx) =>
      isKnownPartnerMessage(tx, partnerKey),
    )
  )
    return { status: 200 };

  const attachments = await storeAttachments(blobs, read.attachments);
  try {
    const isNew = await store.asAccount(accountId, (tx) =>
      writeMessage(
        tx,
        deps,
        { message, transportMethod, partnerKey },
        attachments,
      ),
    );
    // Another delivery of the same message was stored first, with its own
    // blobs.
    if (isNew) deps.arrivals.tell();
    else await deleteAttachments(blobs, attachments);
    return { status: 200 };
  } catch (error) {
    // The commit may have succeeded although its answer was lost. A blob
    // without a row does no harm; a row without its blob does.
    const isReferenced = await store
      .asAccount(accountId, (tx) => isKnownPartnerMessage(tx, partnerKey))
      .catch(() => true);
    if (!isReferenced) await deleteAttachments(blobs, attachments);
    throw error;
  }
}

/**
 * Writes message, documents and event in one transaction. Returns false when
 * the message is already stored.
 */
async function writeMessage(
  tx: AccountTx,
  { idHmacKey }: Pick<MessageCallbackDeps, 'idHmacKey'>,
  {
    message,
    transportMethod,
    partnerKey,
  }: {
    message: InboundMessage;
    transportMethod: TransportMethod;
    partnerKey: Buffer;
  },
  attachments: readonly StoredAttachment[],
): Promise<boolean> {
  const patientId = await messagePatient(tx, idHmacKey, message.patient);
  const stored = await insertMessage(tx, {
    id: uuidv7(),
    patientId,
    direction: 'inbound',
    status: 'completed',
    transportMethod,
    network: message.network ?? null,
    destination: message.destination,
    subject: message.subject,
    body: message.body ?? null,
    attachments: attachments.map(({ id }) => id),
    intendedRecipientNpi: message.intendedRecipientNpi ?? [],
    partnerKey,
    toBeRead: patientId !== null && attachments.length > 0,
  });
  if (stored === undefined) return false;
  await insertAttachments(tx, stored, attachments);
  await announceMessage(tx, 'message.received', stored);
  if (stored.patientId !== null && attachments.length > 0)
    await noteArrival(tx, stored.patientId);
  return true;
}

/**
 * The patient of the message by the account's identity keys; null when none or
 * several match.
 */
async function messagePatient(
  tx: AccountTx,
  hmacKey: string,
  person: InboundMessage['patient'],
): Promise<string | null> {
  if (person === undefined) return null;
  const { zip, ...rest } = person;
  const address = {
    addressLine1: '',
    city: '',
    state: '',
    zip,
    country: 'USA',
  };
  const keys = identityKeys(hmacKey, tx.accountId, {
    ...rest,
    addresses: [address],
  });
  const [one, ...others] = await findNamesakes(tx, hmacKey, person, keys);
  return one !== undefined && others.length === 0 ? one.id : null;
}

/** An attachment whose bytes are stored, and to which no row refers yet. */
interface StoredAttachment
  extends Omit<NewDocument, 'patientId' | 'messageId'> {
  title: string;
  /** SHA-1 in base64, as FHIR's `Attachment.hash` requires. */
  hash: string;
}

/**
 * Stores the bytes of the attachments. When one fails, the stored ones are
 * deleted again.
 */
async function storeAttachments(
  blobs: Pick<BlobStore, 'put' | 'delete'>,
  attachments: readonly ReceivedAttachment[],
): Promise<StoredAttachment[]> {
  const stored: StoredAttachment[] = [];
  try {
    for (const { title, contentType, content } of attachments) {
      const blob = await blobs.put('document', content, contentType);
      const document = documentOf(blob, 'message');
      stored.push({
        ...document,
        title,
        kind: 'attachment',
        sourceDocumentId: document.id,
        hash: createHash('sha1').update(content).digest('base64'),
      });
    }
    return stored;
  } catch (error) {
    await deleteAttachments(blobs, stored);
    throw error;
  }
}

async function deleteAttachments(
  blobs: Pick<BlobStore, 'delete'>,
  stored: readonly Pick<StoredAttachment, 'blobRef'>[],
): Promise<void> {
  for (const { blobRef } of stored) await blobs.delete(blobRef);
}

/**
 * Inserts a message's attachments as documents. If the message has a patient,
 * each also becomes a DocumentReference in the patient's record, delivered by
 * the source `message`. Without a patient they can be read only by their ids.
 */
async function insertAttachments(
  tx: AccountTx,
  message: StoredMessage,
  stored: readonly StoredAttachment[],
): Promise<void> {
  const { patientId } = message;
  await insertDocuments(
    tx,
    stored.map(({ title: _title, hash: _hash, ...document }) => ({
      ...document,
      patientId,
      messageId: message.id,
    })),
  );
  if (patientId === null || stored.length === 0) return;
  // A message names its person by demographics, so our patient id stands in for
  // the id at the source.
  await insertSourcePatientIds(tx, patientId, 'message', [patientId]);
  for (const document of stored)
    await upsertResources(
      tx,
      { patientId, source: 'message', documentId: document.id },
      [deliveredIn(document.fileName, referenceOf(message, document))],
    );
}

const referenceOf = (
  { patientId, subject, sentAt }: StoredMessage,
  document: StoredAttachment,
) => ({
  resourceType: 'DocumentReference',
  id: document.id,
  status: 'current',
  subject: { reference: `Patient/${patientId}` },
  date: sentAt.toISOString(),
  description: `${subject}: ${document.title}`,
  content: [
    {
      attachment: {
        contentType: document.contentType,
        title: document.title,
        size: document.sizeBytes,
        hash: document.hash,
      },
    },
  ],
});
