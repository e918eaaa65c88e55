import type { MessageEventType } from '../../contract/messages.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { endMessage, type StoredMessage } from './message-store.ts';
import { serializeMessage } from './serializers.ts';

/** Ends a message and announces it, in one transaction. Resolves to undefined when it had ended before. */
export async function endTransmission(
  tx: AccountTx,
  messageId: string,
  end: { status: 'completed' } | { status: 'failed'; reason: string },
): Promise<StoredMessage | undefined> {
  const message = await endMessage(tx, messageId, end);
  if (message !== undefined) await announceMessage(tx, 'message.status', message);
  return message;
}

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
