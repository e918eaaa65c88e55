import type { Client } from '@temporalio/client';
import {
  MESSAGE_END_REASONS,
  MESSAGE_TRANSMISSION_MESSAGES,
  type MessageTransmissionInput,
  RECEIPT_WITHIN_MS,
} from '../../contract/messages-workflow.ts';
import { messageTransmissionWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../platform/recovery/recovery.ts';
import { createBackground, startOnce } from '../platform/workflows/start-workflow.ts';
import { findMessage, markTransmissionStarted, messagesToEnsure } from './message-store.ts';
import { endTransmission } from './transitions.ts';

/** Starts and signals the workflows that transmit messages. */
export interface MessageLauncher {
  /** Starts the workflow of a committed message in the background. When that fails, `reconcile` starts it later. */
  launch(accountId: string, messageId: string): void;
  /** Signals the workflow, in the background, that a receipt arrived, so that it checks the delivery now instead of later. */
  receiptArrived(messageId: string): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** The process that committed a message has this long to start its workflow itself. */
const GRACE_MS = 5_000;

export function createMessageLauncher(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
}): MessageLauncher {
  const { store, temporal } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, messageId: string): Promise<'open' | 'closed'> {
    const input: MessageTransmissionInput = { accountId, messageId, receiptWithinMs: RECEIPT_WITHIN_MS };
    const state = await startOnce(temporal, {
      type: WORKFLOW_TYPES.messageTransmission,
      id: messageTransmissionWorkflowId(messageId),
      input,
      accountId,
      requestId: messageId,
      priority: PRIORITY.interactive,
      summary: 'Message to another provider',
      details: WORKFLOW_DETAILS,
      async isOpen() {
        const row = await store.asAccount(accountId, (tx) => findMessage(tx, messageId));
        return row?.status === 'processing';
      },
    });
    await store.asAccount(accountId, async (tx) => {
      await markTransmissionStarted(tx, messageId);
      if (state === 'open') return;
      const end = { status: 'failed', reason: MESSAGE_END_REASONS.workflowGone } as const;
      await endTransmission(tx, messageId, end);
    });
    return state;
  }

  return {
    launch(accountId, messageId) {
      background.run(
        'the workflow of a message could not be started; reconcile starts it later',
        { messageId },
        () => start(accountId, messageId),
      );
    },
    receiptArrived(messageId) {
      const handle = temporal.workflow.getHandle(messageTransmissionWorkflowId(messageId));
      background.run(
        'a receipt could not be signalled to its workflow; the workflow checks by timer instead',
        { messageId },
        () =>
          temporal.withDeadline(Date.now() + GRACE_MS, () =>
            handle.signal(MESSAGE_TRANSMISSION_MESSAGES.receipt),
          ),
      );
    },
    recovery: itemRecovery({
      name: 'messages',
      find: (limit, lookAgainBefore) =>
        store.asSystem((tx) => messagesToEnsure(tx, { olderThanMs: GRACE_MS, lookAgainBefore, limit })),
      heal: async ({ accountId, messageId, isStarted }) =>
        (await start(accountId, messageId)) === 'closed' || !isStarted,
    }),
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const WORKFLOW_DETAILS = [
  'Sends a message to another provider, by XDR or Direct, and announces the outcome by webhook.',
  '',
  '1. **transmitMessage** hands the message to the transport partner, with retries for a day.',
  '2. When the partner has accepted the message, **checkTransmission** asks for its delivery after each receipt (signal `receipt`) and on a timer, for at most three days.',
  '3. The outcome and the webhook `message.status` are one transaction. After the last retry **failTransmission** writes it.',
].join('\n');
