import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { boundedList, NAMES_MAX } from '../../contract/bounds.ts';
import {
  MESSAGE_BODY_LENGTH_MAX,
  MESSAGE_NETWORKS,
  type TransportMethod,
  transportOf,
} from '../../contract/messages.ts';
import { splitNames } from '../../contract/primitives.ts';
import type { BlobStore } from '../../shared/blobs/blob-store.ts';
import { findByIdentityKeys } from '../patients/patient-store.ts';
import { identityKeys } from '../patients/rules/identity-keys.ts';
import type { AccountTx, Store } from '../platform/database/database.ts';
import { readAttachments } from './attachments.ts';
import { dropBytes, insertAttachments, type KeptAttachment, keepBytes } from './keep-attachments.ts';
import { accountOfMessage, accountsAt, insertMessage, isKnownMessage } from './message-store.ts';
import { announceMessage } from './transitions.ts';

const name = z.string().trim().min(1).max(200);
/** A blank separates names, as in what callers say of a patient. */
const names = boundedList(z.array(name).min(1), NAMES_MAX.parts).transform((values) =>
  values.flatMap(splitNames),
);
/** Of the XDR submission set's source patient, or of the Direct message's context. */
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
/** Without the characters that PostgreSQL has no place for: NUL, and halves of surrogate pairs. */
const storable = (text: string): string => text.replaceAll(/[\0\p{Surrogate}]/gu, '');
const messageSchema = z.object({
  type: z.literal('message'),
  /** The partner's own id: a repeat has the same. */
  messageId: z.string().min(1).max(500),
  destination: z
    .string()
    .max(400)
    .transform((value) => value.trim().replace(/^urn:oid:/i, ''))
    .refine((value) => transportOf(value) !== undefined),
  /** Of a message by XDR. */
  network: z.enum(MESSAGE_NETWORKS).optional(),
  subject: z.string().transform(storable).pipe(z.string().trim().min(1).max(1_000)),
  body: z.string().max(MESSAGE_BODY_LENGTH_MAX).transform(storable).optional(),
  intendedRecipientNpi: boundedList(z.array(z.string().regex(/^\d{10}$/)), 20).optional(),
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
  /** Matches a message's patient (ID_HMAC_KEY). */
  idHmacKey: string;
  receiptCame(messageId: string): void;
}

/** How a callback is answered. With a `problem`, the partner is told it. */
export interface CallbackAnswer {
  status: 200 | 400 | 404 | 409 | 413 | 422;
  problem?: string;
}

/**
 * What the transport partner tells: a message for one of our accounts, or that one of ours has a receipt. Its signature was
 * checked before. 200: taken, or known. 400: unreadable. 404: nobody receives there, or no such message. 409: several
 * accounts receive there. 413, 422: its attachments are too large, or cannot be read (docs/decisions/0047-…).
 */
export async function takeMessageCallback(
  deps: MessageCallbackDeps,
  rawBody: Buffer,
): Promise<CallbackAnswer> {
  const callback = readCallback(rawBody);
  if (callback === undefined) return { status: 400 };
  if (callback.type === 'message') return takeMessage(deps, callback);
  const accountId = await deps.store.asSystem((tx) => accountOfMessage(tx, callback.reference));
  if (accountId === undefined) return { status: 404 };
  deps.receiptCame(callback.reference);
  return { status: 200 };
}

async function takeMessage(deps: MessageCallbackDeps, message: InboundMessage): Promise<CallbackAnswer> {
  const { store, blobs } = deps;
  const { destination, network } = message;
  const transportMethod = transportOf(destination);
  if (transportMethod === undefined || (transportMethod === 'xdr') !== (network !== undefined))
    return { status: 400 };
  const read = readAttachments(message.attachments ?? []);
  if (!('attachments' in read)) return read;
  const [accountId, ...others] = await store.asSystem((tx) => accountsAt(tx, transportMethod, destination));
  if (accountId === undefined) return { status: 404 };
  if (others.length > 0) return { status: 409 };
  const partnerKey = createHash('sha256').update(message.messageId).digest();
  if (await store.asAccount(accountId, (tx) => isKnownMessage(tx, partnerKey))) return { status: 200 };

  const kept = await keepBytes(blobs, read.attachments);
  try {
    const isNew = await store.asAccount(accountId, (tx) =>
      writeMessage(tx, deps, { message, transportMethod, partnerKey }, kept),
    );
    // Another delivery of the same message was stored first, with its own bytes.
    if (!isNew) await dropBytes(blobs, kept);
    return { status: 200 };
  } catch (error) {
    // Where a commit got no answer it may have been one; bytes without a row harm nobody, a row without its bytes does.
    const isNeeded = await store
      .asAccount(accountId, (tx) => isKnownMessage(tx, partnerKey))
      .catch(() => true);
    if (!isNeeded) await dropBytes(blobs, kept);
    throw error;
  }
}

/** Writes message, documents and event in one transaction. False when the message is already there. */
async function writeMessage(
  tx: AccountTx,
  { idHmacKey }: Pick<MessageCallbackDeps, 'idHmacKey'>,
  {
    message,
    transportMethod,
    partnerKey,
  }: { message: InboundMessage; transportMethod: TransportMethod; partnerKey: Buffer },
  kept: readonly KeptAttachment[],
): Promise<boolean> {
  const patientId = await patientOf(tx, idHmacKey, message.patient);
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
    attachments: kept.map(({ id }) => id),
    intendedRecipientNpi: message.intendedRecipientNpi ?? [],
    partnerKey,
    toBeRead: patientId !== null && kept.length > 0,
  });
  if (stored === undefined) return false;
  await insertAttachments(tx, stored, kept);
  await announceMessage(tx, 'message.received', stored);
  return true;
}

/** By the matching rule of the account's patients; nobody rather than a guess. */
async function patientOf(
  tx: AccountTx,
  hmacKey: string,
  person: InboundMessage['patient'],
): Promise<string | null> {
  if (person === undefined) return null;
  const { zip, ...rest } = person;
  const address = { addressLine1: '', city: '', state: '', zip, country: 'USA' };
  const keys = identityKeys(hmacKey, tx.accountId, { ...rest, addresses: [address] });
  const [id, ...others] = await findByIdentityKeys(tx, keys);
  return id !== undefined && others.length === 0 ? id : null;
}

function readCallback(rawBody: Buffer): z.output<typeof callbackSchema> | undefined {
  try {
    return callbackSchema.safeParse(JSON.parse(rawBody.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
