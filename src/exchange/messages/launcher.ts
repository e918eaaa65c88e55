import type { Client } from '@temporalio/client';
import {
  MESSAGE_END_REASONS,
  MESSAGE_TRANSMISSION_MESSAGES,
  type MessageTransmissionInput,
} from '../../contract/messages-workflow.ts';
import { messageTransmissionWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../contract/temporal.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import { createBackground, startOnce } from '../platform/workflows/start-workflow.ts';
import { markTransmissionStarted, messagesToEnsure } from './message-store.ts';
import { endTransmission } from './transitions.ts';

/** The workflows that bring messages out. */
export interface MessageLauncher {
  /** Starts the workflow of a committed message, soon and in the background; what fails here `reconcile` starts. */
  launch(accountId: string, messageId: string): void;
  /** The network has something to tell of it: the workflow asks at once instead of later. */
  receiptCame(messageId: string): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** What the process that committed it has this long to do itself. */
const GRACE_MS = 5_000;

export function createMessageLauncher(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
}): MessageLauncher {
  const { store, temporal } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, messageId: string): Promise<void> {
    const input: MessageTransmissionInput = { accountId, messageId };
    const state = await startOnce(temporal, {
      type: WORKFLOW_TYPES.messageTransmission,
      id: messageTransmissionWorkflowId(messageId),
      input,
      accountId,
      requestId: messageId,
      priority: PRIORITY.interactive,
      summary: 'Message to another provider',
      details: STORY,
    });
    await store.asAccount(accountId, async (tx) => {
      await markTransmissionStarted(tx, messageId);
      if (state === 'open') return;
      const end = { status: 'failed', reason: MESSAGE_END_REASONS.workflowGone } as const;
      await endTransmission(tx, messageId, end);
    });
  }

  return {
    launch(accountId, messageId) {
      background.run('message not started yet; reconcile will', { messageId }, () =>
        start(accountId, messageId),
      );
    },
    receiptCame(messageId) {
      const handle = temporal.workflow.getHandle(messageTransmissionWorkflowId(messageId));
      background.run('receipt not passed on; the workflow will ask', { messageId }, () =>
        temporal.withDeadline(Date.now() + GRACE_MS, () =>
          handle.signal(MESSAGE_TRANSMISSION_MESSAGES.receipt),
        ),
      );
    },
    recovery: {
      name: 'messages',
      async takeUp(limit) {
        const open = await store.asSystem((tx) => messagesToEnsure(tx, { olderThanMs: GRACE_MS, limit }));
        const failures: unknown[] = [];
        for (const { accountId, messageId } of open)
          await start(accountId, messageId).catch((error: unknown) => failures.push(error));
        // One that cannot be taken up keeps no other waiting.
        if (failures.length > 0) throw failures[0];
        return open.length;
      },
    },
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const STORY = [
  'Brings a message to another provider, by XDR or Direct, and announces how it ended.',
  '',
  '1. **transmitMessage** hands it over to the transport partner, again for a day while that fails.',
  '2. Taken but not delivered yet, the partner’s receipt (signal `receipt`) or a timer lets **checkTransmission** ask, for three days at most.',
  '3. Its end and the webhook `message.status` are one transaction; given up, **failTransmission** writes it.',
].join('\n');
