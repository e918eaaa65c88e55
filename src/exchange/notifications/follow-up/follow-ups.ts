import type { Client } from '@temporalio/client';
import {
  DISCHARGE_FOLLOW_UP_MESSAGES,
  type DischargeFollowUpInput,
  FOLLOW_UP_PLAN,
} from '../../../contract/discharge-follow-up-workflow.ts';
import { dischargeFollowUpWorkflowId, PRIORITY, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import type { Logger } from '../../../lib/logger.ts';
import type { Store } from '../../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../../platform/recovery/recovery.ts';
import { createBackground, startOnce } from '../../platform/workflows/start-workflow.ts';
import {
  endFollowUps,
  followUpsToEnsure,
  markFollowUpStarted,
  readFollowUpStart,
} from './follow-up-store.ts';

/** Starts and wakes the workflows that query the hie source again after a discharge. */
export interface FollowUps {
  /** Starts the workflow of a committed follow-up in the background. When that fails, `reconcile` starts it later. */
  launch(accountId: string, notificationId: string): void;
  /** Signals the workflow, in the background, that the follow-up has changed, so that it checks now instead of next round. */
  wake(accountId: string, notificationId: string): void;
  recovery: Recovery;
  drain(): Promise<void>;
}

/** The process that committed a follow-up has this long to start its workflow itself. */
const GRACE_MS = 5_000;

export function createFollowUps(deps: { store: Store; temporal: Client; logger: Logger }): FollowUps {
  const { store, temporal } = deps;
  const background = createBackground(deps.logger);

  async function start(accountId: string, notificationId: string): Promise<'open' | 'closed'> {
    const startedAt = await store.asAccount(accountId, (tx) => readFollowUpStart(tx, notificationId));
    // It ended, or was deleted with its patient, before its workflow was started.
    if (startedAt === undefined) return 'closed';
    const input: DischargeFollowUpInput = {
      accountId,
      notificationId,
      startedAt: startedAt.toISOString(),
      plan: FOLLOW_UP_PLAN,
    };
    const state = await startOnce(temporal, {
      type: WORKFLOW_TYPES.dischargeFollowUp,
      id: dischargeFollowUpWorkflowId(notificationId),
      input,
      accountId,
      requestId: notificationId,
      priority: PRIORITY.monitoring,
      summary: 'Follow-up of a discharge',
      details: WORKFLOW_DETAILS,
      isOpen: async () =>
        (await store.asAccount(accountId, (tx) => readFollowUpStart(tx, notificationId))) !== undefined,
    });
    await store.asAccount(accountId, async (tx) => {
      await markFollowUpStarted(tx, notificationId);
      if (state === 'closed')
        await endFollowUps(
          tx,
          [notificationId],
          'cancelled',
          'The workflow was ended from outside; the follow-up stopped',
        );
    });
    return state;
  }

  return {
    launch(accountId, notificationId) {
      background.run(
        'the workflow of a follow-up could not be started; reconcile starts it later',
        { notificationId },
        () => start(accountId, notificationId),
      );
    },
    wake(_accountId, notificationId) {
      const handle = temporal.workflow.getHandle(dischargeFollowUpWorkflowId(notificationId));
      background.run(
        'a follow-up could not be signalled; it notices the change at its next round',
        { notificationId },
        () =>
          temporal.withDeadline(Date.now() + GRACE_MS, () =>
            handle.signal(DISCHARGE_FOLLOW_UP_MESSAGES.look),
          ),
      );
    },
    recovery: itemRecovery({
      name: 'follow-ups of discharges',
      find: (limit, lookAgainBefore) =>
        store.asSystem((tx) => followUpsToEnsure(tx, { olderThanMs: GRACE_MS, lookAgainBefore, limit })),
      heal: async ({ accountId, notificationId, isStarted }) =>
        (await start(accountId, notificationId)) === 'closed' || !isStarted,
    }),
    drain: () => background.drain(),
  };
}

/** Shown on the workflow's page in the Temporal UI. */
const WORKFLOW_DETAILS = [
  'Queries the hie source again after a discharge: after 5 and 30 minutes, 4 hours, 1, 2 and 4 days, until a query brings new data.',
  '',
  '1. **askAfterDischarge** starts a background query of the hie source, unless the last one still runs.',
  '2. **lookAfterDischarge** checks whether it brought new data.',
  '',
  'It ends early when the sender withdraws the discharge, the patient opts out or is deleted, a later discharge is followed up, or with the update `cancel`.',
].join('\n');
