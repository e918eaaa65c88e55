import type { Client } from '@temporalio/client';
import type { MessageEventType } from '../../../contract/messages.ts';
import {
  MESSAGE_END_REASONS,
  MESSAGE_TRANSMISSION_MESSAGES,
  type MessageTransmissionInput,
  RECEIPT_WITHIN_MS,
} from '../../../contract/messages-workflow.ts';
import {
  messageTransmissionWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { AccountTx, Store } from '../../platform/database/database.ts';
import { insertEvent } from '../../platform/outbox/event-store.ts';
import {
  createWorkLauncher,
  type WorkLauncher,
} from '../../platform/workflows/launcher.ts';
import {
  endMessage,
  failCompletedMessage,
  type StoredMessage,
  serializeMessage,
  transmissionRows,
} from './message-store.ts';

/** Starts and signals the workflows that transmit messages. */
export type MessageLauncher = Pick<
  WorkLauncher,
  'launch' | 'recovery' | 'drain'
> & {
  /**
   * Signals the workflow, in the background, that a receipt arrived, so that it
   * checks the delivery now instead of later.
   */
  receiptArrived(messageId: string): void;
};

export function createMessageLauncher(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
}): MessageLauncher {
  const launcher = createWorkLauncher(deps, {
    name: 'messages',
    id: 'messageId',
    rows: transmissionRows,
    notStarted:
      'the workflow of a message could not be started; reconcile starts it later',
    type: WORKFLOW_TYPES.messageTransmission,
    workflowId: messageTransmissionWorkflowId,
    input: (accountId, messageId): MessageTransmissionInput => ({
      accountId,
      messageId,
      receiptWithinMs: RECEIPT_WITHIN_MS,
    }),
    priority: PRIORITY.interactive,
    summary: 'Message to another provider',
    end: (tx, messageId) =>
      endTransmission(tx, messageId, {
        status: 'failed',
        reason: MESSAGE_END_REASONS.workflowGone,
      }),
  });
  return {
    ...launcher,
    receiptArrived: (messageId) =>
      launcher.background.run(
        'a receipt could not be signalled to its workflow; the workflow checks by timer instead',
        { messageId },
        () => launcher.signal(messageId, MESSAGE_TRANSMISSION_MESSAGES.receipt),
      ),
  };
}

/**
 * Ends a message and writes its webhook event, in one transaction. Undefined
 * when the message had already ended.
 */
export async function endTransmission(
  tx: AccountTx,
  messageId: string,
  end: { status: 'completed' } | { status: 'failed'; reason: string },
): Promise<StoredMessage | undefined> {
  const message = await endMessage(tx, messageId, end);
  if (message !== undefined)
    await announceMessage(tx, 'message.status', message);
  return message;
}

/**
 * Lets a message that had ended as delivered fail after all, with a webhook
 * event of its own. Does nothing when it had not.
 */
export async function failDelivered(
  tx: AccountTx,
  messageId: string,
  reason: string,
): Promise<StoredMessage | undefined> {
  const message = await failCompletedMessage(tx, messageId, reason);
  if (message !== undefined)
    await announceMessage(tx, 'message.status', message, 'after-all');
  return message;
}

/**
 * Writes the webhook event of a message; a repeated call writes none.
 *
 * @param which of several events of one type
 */
export async function announceMessage(
  tx: AccountTx,
  type: MessageEventType,
  message: StoredMessage,
  which?: 'after-all',
): Promise<void> {
  await insertEvent(tx, {
    type,
    factKey: [type, message.id, ...(which === undefined ? [] : [which])].join(
      '/',
    ),
    patientId: message.patientId ?? undefined,
    requestId: message.id,
    occurredAt: message.updatedAt,
    body: {
      meta: {
        requestId: message.id,
        when: message.updatedAt.toISOString(),
        type,
      },
      payload: {
        ...serializeMessage(message),
        ...(type === 'message.status'
          ? { completedAt: message.updatedAt.toISOString() }
          : {}),
      },
    },
  });
}
