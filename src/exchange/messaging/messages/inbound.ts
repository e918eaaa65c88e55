import { z } from 'zod';
import type { Json } from '#record-summary/fhir';
import { boundedList, NAMES_MAX } from '../../../contract/bounds.ts';
import {
  MESSAGE_BODY_LENGTH_MAX,
  MESSAGE_NETWORKS,
  transportOf,
} from '../../../contract/messages.ts';
import { splitNames } from '../../../contract/primitives.ts';
import type { Store } from '../../platform/database/database.ts';
import { readCallback } from '../../platform/http/signed-callback.ts';
import { FHIR_GENDERS } from '../../records/rules/fold-patient.ts';
import { readAttachments } from './attachments.ts';
import { accountOfMessage } from './message-store.ts';
import {
  recipientAt,
  storable,
  type TakeMessageDeps,
  takeMessage,
} from './take-message.ts';

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
  body: z.string().max(MESSAGE_BODY_LENGTH_MAX).optional(),
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

export interface MessageCallbackDeps extends TakeMessageDeps {
  store: Store;
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
  const { destination, network } = message;
  if ((transportOf(destination) === 'xdr') !== (network !== undefined))
    return { status: 400 };
  const read = readAttachments(message.attachments ?? []);
  if (!('attachments' in read)) return read;
  const recipient = await recipientAt(deps.store, destination);
  if (recipient === 'nobody') return { status: 404 };
  if (recipient === 'several') return { status: 409 };
  await takeMessage(deps, recipient.accountId, {
    ...message,
    senderId: message.messageId,
    attachments: read.attachments,
    patient: message.patient && fhirPatient(message.patient),
  });
  return { status: 200 };
}

const fhirPatient = (person: z.output<typeof personSchema>): Json => ({
  resourceType: 'Patient',
  name: [{ family: person.lastNames.join(' '), given: person.firstNames }],
  gender: FHIR_GENDERS[person.gender],
  birthDate: person.dob,
  address: [{ postalCode: person.zip.slice(0, 5) }],
});
