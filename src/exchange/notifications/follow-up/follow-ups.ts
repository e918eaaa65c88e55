import type { Client } from '@temporalio/client';
import {
  DISCHARGE_FOLLOW_UP_MESSAGES,
  type DischargeFollowUpInput,
} from '../../../contract/discharge-follow-up-workflow.ts';
import { dischargeFollowUpWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Store } from '../../platform/database/database.ts';
import type { Recovery } from '../../platform/recovery/recovery.ts';
import { createBackground, startOnce } from '../../platform/workflows/start-workflow.ts';
import {
  endFollowUps,
  followUpsToEnsure,
  markFollowUpStarted,
  readFollowUpStart,
} from './follow-up-store.ts';

/** The workflows that ask the hie source again after a discharge. */
export interface FollowUps {
  /** Starts the workflow of a committed follow-up, soon and in the background; what fails here `reconcile` starts. */
  launch(accountId: string, notificationId: string): void;
  /** Its row has changed: the workflow may look at once instead of at its next round. */
  wake(accountId: string, notificationId: string): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** What the process that committed it has this long to do itself. */
const GRACE_MS = 5_000;

export function createFollowUps(deps: { store: Store; temporal: Client; logger: Logger }): FollowUps {
  const { store, temporal } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, notificationId: string): Promise<void> {
    const startedAt = await store.asAccount(accountId, (tx) => readFollowUpStart(tx, notificationId));
    // Ended, or gone with its patient, before its workflow was there.
    if (startedAt === undefined) return;
    const input: DischargeFollowUpInput = { accountId, notificationId, startedAt: startedAt.toISOString() };
    const state = await startOnce(temporal, {
      type: WORKFLOW_TYPES.dischargeFollowUp,
      id: dischargeFollowUpWorkflowId(notificationId),
      input,
      accountId,
      requestId: notificationId,
      priority: PRIORITY.monitoring,
      summary: 'Follow-up of a discharge',
      details: STORY,
    });
    await store.asAccount(accountId, async (tx) => {
      await markFollowUpStarted(tx, notificationId);
      if (state === 'closed')
        await endFollowUps(tx, [notificationId], 'cancelled', 'The workflow was ended from outside');
    });
  }

  return {
    launch(accountId, notificationId) {
      background.run('follow-up not started yet; reconcile will', { notificationId }, () =>
        start(accountId, notificationId),
      );
    },
    wake(_accountId, notificationId) {
      const handle = temporal.workflow.getHandle(dischargeFollowUpWorkflowId(notificationId));
      background.run('follow-up not told; it will see at its next round', { notificationId }, () =>
        temporal.withDeadline(Date.now() + GRACE_MS, () => handle.signal(DISCHARGE_FOLLOW_UP_MESSAGES.look)),
      );
    },
    recovery: {
      name: 'follow-ups of discharges',
      async takeUp(limit) {
        const open = await store.asSystem((tx) => followUpsToEnsure(tx, { olderThanMs: GRACE_MS, limit }));
        const failures: unknown[] = [];
        for (const { accountId, notificationId } of open)
          await start(accountId, notificationId).catch((error: unknown) => failures.push(error));
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
  'After a discharge the hie source is asked again: after 5 minutes, 30 minutes, 4 hours, 1, 2 and 4 days, until a query brings something that was not known before.',
  '',
  '1. **askAfterDischarge** starts a network query of the hie source, as monitoring does; none while the last one runs.',
  '2. **lookAfterDischarge** sees whether it brought new data.',
  '',
  'It ends early when the discharge is taken back, the patient opts out or is deleted, a later discharge is followed up, or by the update `cancel`.',
].join('\n');
