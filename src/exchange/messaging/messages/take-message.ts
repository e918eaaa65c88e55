import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Json } from '#record-summary/fhir';
import {
  type MessageNetwork,
  transportOf,
} from '../../../contract/messages.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import { identifyPatientIn } from '../../delivery/fhir-api/identify-patient.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
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
import { announceMessage } from './launcher.ts';
import {
  accountsAt,
  findBySenderKey,
  insertMessage,
  type StoredMessage,
} from './message-store.ts';

/** A file attached to an inbound message. */
export interface ReceivedAttachment {
  /** The sender's file name, without control characters. */
  title: string;
  contentType: string;
  content: Buffer;
}

/** A message from another provider, by whichever transport it came. */
export interface ArrivedMessage {
  /**
   * The sender's id of the message, with what makes it unique among transports
   * and senders. What comes again under the same id is the same message.
   */
  senderId: string;
  /** OID of a facility (XDR), or a Direct address. */
  destination: string;
  /** For XDR only. */
  network?: MessageNetwork | undefined;
  subject: string;
  body?: string | undefined;
  intendedRecipientNpi?: readonly string[] | undefined;
  attachments: readonly ReceivedAttachment[];
  /**
   * Whom the message is about, as FHIR Patients: its descriptions, each of
   * which must lead to the same patient.
   */
  patients?: readonly Json[] | undefined;
}

/** A message as it is stored. */
export interface TakenMessage {
  id: string;
  /** Null when nobody, or several, may be meant. */
  patientId: string | null;
  /** False for a message that was taken in before. */
  isNew: boolean;
}

export interface TakeMessageDeps {
  store: Pick<Store, 'asAccount'>;
  blobs: Pick<BlobStore, 'put' | 'delete'>;
  /** ID_HMAC_KEY, for matching a message's patient. */
  idHmacKey: string;
  arrivals: Pick<Arrivals, 'tell'>;
}

/**
 * Who receives messages at a destination: one account, nobody, or several, to
 * none of which the message may then go.
 */
export async function recipientAt(
  store: Pick<Store, 'asSystem'>,
  destination: string,
): Promise<{ accountId: string } | 'nobody' | 'several'> {
  const transport = transportOf(destination);
  if (transport === undefined) return 'nobody';
  const [accountId, ...others] = await store.asSystem((tx) =>
    accountsAt(tx, transport, destination),
  );
  if (accountId === undefined) return 'nobody';
  return others.length === 0 ? { accountId } : 'several';
}

/**
 * Takes in a message for an account: stores its attachments, and then writes
 * message, documents and webhook event in one transaction. Its patient is whom
 * our matching rule finds, or none (`identifyPatient`).
 *
 * When it throws, the sender may send the message again: the same message is
 * taken in once.
 */
export async function takeMessage(
  deps: TakeMessageDeps,
  accountId: string,
  message: ArrivedMessage,
): Promise<TakenMessage> {
  const { store, blobs } = deps;
  const senderKey = createHash('sha256').update(message.senderId).digest();
  const findKnown = () =>
    store.asAccount(accountId, (tx) => findBySenderKey(tx, senderKey));
  const known = await findKnown();
  if (known !== undefined) return { ...known, isNew: false };

  const attachments = await storeAttachments(blobs, message.attachments);
  try {
    const written = await store.asAccount(accountId, (tx) =>
      writeMessage(tx, deps.idHmacKey, { message, senderKey, attachments }),
    );
    if (written.isNew) deps.arrivals.tell();
    // Another delivery of the same message was stored first, with its own
    // blobs.
    else await deleteAttachments(blobs, attachments);
    return written;
  } catch (error) {
    // The commit may have succeeded although its answer was lost. A blob
    // without a row does no harm; a row without its blob does.
    const isUnknown = await findKnown().then(
      (found) => found === undefined,
      () => false,
    );
    if (isUnknown) await deleteAttachments(blobs, attachments);
    throw error;
  }
}

async function writeMessage(
  tx: AccountTx,
  idHmacKey: string,
  {
    message,
    senderKey,
    attachments,
  }: {
    message: ArrivedMessage;
    senderKey: Buffer;
    attachments: readonly StoredAttachment[];
  },
): Promise<TakenMessage> {
  const { destination, network, subject, body } = message;
  const transportMethod = transportOf(destination);
  if (transportMethod === undefined)
    throw new TypeError('The destination is no OID and no Direct address.');
  const patientId = await patientOf(tx, idHmacKey, message);
  const stored = await insertMessage(tx, {
    id: uuidv7(),
    patientId,
    direction: 'inbound',
    status: 'completed',
    transportMethod,
    network: network ?? null,
    destination,
    subject: storable(subject),
    body: body === undefined ? null : storable(body),
    attachments: attachments.map(({ id }) => id),
    intendedRecipientNpi: [...(message.intendedRecipientNpi ?? [])],
    partnerKey: senderKey,
    toBeRead: patientId !== null && attachments.length > 0,
  });
  if (stored === undefined) {
    const known = await findBySenderKey(tx, senderKey);
    if (known === undefined)
      throw new Error('A message is neither new nor known');
    return { ...known, isNew: false };
  }
  await insertAttachments(tx, stored, attachments);
  await announceMessage(tx, 'message.received', stored);
  if (stored.patientId !== null && attachments.length > 0)
    await noteArrival(tx, stored.patientId);
  return { id: stored.id, patientId, isNew: true };
}

/**
 * Whom our matching rule finds by each description; null when nobody, or
 * several, may be meant.
 */
async function patientOf(
  tx: AccountTx,
  idHmacKey: string,
  { patients = [] }: ArrivedMessage,
): Promise<string | null> {
  const found = new Set<string | null>();
  for (const patient of patients) {
    const identified = await identifyPatientIn(tx, idHmacKey, patient);
    const holders = 'missing' in identified ? [] : identified.holders;
    const [one = null, ...others] = holders;
    found.add(others.length === 0 ? one : null);
  }
  const [one = null, ...others] = found;
  return others.length === 0 ? one : null;
}

/**
 * Removes the characters that PostgreSQL cannot store: NUL, and lone halves of
 * surrogate pairs.
 */
export const storable = (text: string): string =>
  text.replaceAll(/[\0\p{Surrogate}]/gu, '');

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
