import type { Message } from '../../../contract/messages.ts';
import type { StoredMessage } from './message-store.ts';

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
    intendedRecipientNpi: intendedRecipientNpi.length === 0 ? undefined : intendedRecipientNpi,
    sentAt: message.sentAt.toISOString(),
    updatedAt: message.updatedAt.toISOString(),
    reason: message.reason ?? undefined,
  };
}
