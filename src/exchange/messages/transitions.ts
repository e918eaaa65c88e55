import type { MessageEventType } from '../../contract/messages.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { endMessage, type StoredMessage } from './message-store.ts';
import { serializeMessage } from './serializers.ts';

/** Ends a message and tells it by webhook, in one transaction; nothing when it had ended before. */
export async function endTransmission(
  tx: AccountTx,
  messageId: string,
  end: { status: 'completed' } | { status: 'failed'; reason: string },
): Promise<{ message?: StoredMessage; eventIds: string[] }> {
  const message = await endMessage(tx, messageId, end);
  if (message === undefined) return { eventIds: [] };
  return { message, eventIds: await announceMessage(tx, 'message.status', message) };
}

/** @returns the event to send, in a list; empty when it was told before */
export async function announceMessage(
  tx: AccountTx,
  type: MessageEventType,
  message: StoredMessage,
): Promise<string[]> {
  const eventId = await insertEvent(tx, {
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
  return eventId === undefined ? [] : [eventId];
}
