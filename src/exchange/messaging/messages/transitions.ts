import type { MessageEventType } from '../../../contract/messages.ts';
import type { AccountTx } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import { endMessage, type StoredMessage } from './message-store.ts';
import { serializeMessage } from './serializers.ts';

/** Ends a message and writes its webhook event, in one transaction. Undefined when the message had already ended. */
export async function endTransmission(
  tx: AccountTx,
  messageId: string,
  end: { status: 'completed' } | { status: 'failed'; reason: string },
): Promise<StoredMessage | undefined> {
  const message = await endMessage(tx, messageId, end);
  if (message !== undefined) await announceMessage(tx, 'message.status', message);
  return message;
}

/** Writes the webhook event of a message; a repeated call writes none. */
export async function announceMessage(
  tx: AccountTx,
  type: MessageEventType,
  message: StoredMessage,
): Promise<void> {
  await insertEvent(tx, {
    type,
    factKey: `${type}/${message.id}`,
    patientId: message.patientId ?? undefined,
    requestId: message.id,
    occurredAt: message.updatedAt,
    body: {
      meta: { requestId: message.id, when: message.updatedAt.toISOString(), type },
      payload: {
        ...serializeMessage(message),
        ...(type === 'message.status' ? { completedAt: message.updatedAt.toISOString() } : {}),
      },
    },
  });
}
