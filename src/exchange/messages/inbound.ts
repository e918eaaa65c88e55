import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import { MESSAGE_BODY_LENGTH_MAX, MESSAGE_NETWORKS, transportOf } from '../../contract/message.ts';
import { identityKeys } from '../domain/identity-keys.ts';
import type { AccountTx, Store } from '../store/database.ts';
import { accountOfMessage, accountsAt, insertMessage } from '../store/messages.ts';
import { findByIdentityKeys } from '../store/patients.ts';
import type { Courier } from '../webhooks/courier.ts';
import { announceMessage } from './transitions.ts';

const name = z.string().trim().min(1).max(200);
/** Of the XDR submission set's source patient, or of the Direct message's context. */
const personSchema = z.object({
  firstNames: z.array(name).min(1),
  lastNames: z.array(name).min(1),
  dob: z.iso.date(),
  gender: z.enum(['M', 'F', 'O', 'U']),
  zip: z.string().regex(/^\d{5}/),
});
const messageSchema = z.object({
  type: z.literal('message'),
  /** The partner's own id: a repeat has the same. */
  messageId: z.string().min(1).max(500),
  destination: z
    .string()
    .transform((value) => value.trim().replace(/^urn:oid:/i, ''))
    .refine((value) => transportOf(value) !== undefined),
  /** Of a message by XDR. */
  network: z.enum(MESSAGE_NETWORKS).optional(),
  subject: z.string().trim().min(1).max(1_000),
  body: z.string().max(MESSAGE_BODY_LENGTH_MAX).optional(),
  intendedRecipientNpi: z
    .array(z.string().regex(/^\d{10}$/))
    .max(20)
    .optional(),
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
  courier: Pick<Courier, 'send'>;
  /** Matches a message's patient (ID_HMAC_KEY). */
  idHmacKey: string;
  receiptCame(messageId: string): void;
}

/**
 * What the transport partner tells: a message for one of our accounts, or that one of ours has a receipt. Its signature was
 * checked before. 200: taken, or known. 400: unreadable. 404: nobody receives there, or no such message. 409: several
 * accounts receive there. 422: it has attachments, which are not taken in yet (docs/decisions/0043-…).
 */
export async function takeMessageCallback(
  deps: MessageCallbackDeps,
  rawBody: Buffer,
): Promise<{ status: 200 | 400 | 404 | 409 | 422 }> {
  const callback = readCallback(rawBody);
  if (callback === undefined) return { status: 400 };
  if (callback.type === 'message') return takeMessage(deps, callback);
  const accountId = await deps.store.asSystem((tx) => accountOfMessage(tx, callback.reference));
  if (accountId === undefined) return { status: 404 };
  deps.receiptCame(callback.reference);
  return { status: 200 };
}

async function takeMessage(
  { store, courier, idHmacKey }: MessageCallbackDeps,
  message: InboundMessage,
): Promise<{ status: 200 | 400 | 404 | 409 | 422 }> {
  const { destination, network } = message;
  const transportMethod = transportOf(destination);
  if (transportMethod === undefined || (transportMethod === 'xdr') !== (network !== undefined))
    return { status: 400 };
  if ((message.attachments ?? []).length > 0) return { status: 422 };
  const [accountId, ...others] = await store.asSystem((tx) => accountsAt(tx, transportMethod, destination));
  if (accountId === undefined) return { status: 404 };
  if (others.length > 0) return { status: 409 };

  const eventIds = await store.asAccount(accountId, async (tx) => {
    const stored = await insertMessage(tx, {
      id: uuidv7(),
      patientId: await patientOf(tx, idHmacKey, message.patient),
      direction: 'inbound',
      status: 'completed',
      transportMethod,
      network: network ?? null,
      destination,
      subject: message.subject,
      body: message.body ?? null,
      attachments: [],
      intendedRecipientNpi: message.intendedRecipientNpi ?? [],
      partnerKey: createHash('sha256').update(message.messageId).digest(),
    });
    return stored === undefined ? [] : announceMessage(tx, 'message.received', stored);
  });
  courier.send(accountId, eventIds);
  return { status: 200 };
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
