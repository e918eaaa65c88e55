import type { Client } from '@temporalio/client';
import {
  DISCHARGE_FOLLOW_UP_MESSAGES,
  type DischargeFollowUpInput,
  FOLLOW_UP_PLAN,
} from '../../../../contract/discharge-follow-up-workflow.ts';
import {
  dischargeFollowUpWorkflowId,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../../contract/temporal.ts';
import type { Logger } from '../../../../lib/logger.ts';
import type { Store } from '../../../platform/database/database.ts';
import {
  createWorkLauncher,
  type WorkLauncher,
} from '../../../platform/workflows/launcher.ts';
import type { Applied } from '../apply.ts';
import {
  endFollowUps,
  followUpRows,
  readFollowUpStart,
} from './follow-up-store.ts';

/**
 * Starts and wakes the workflows that query the hie source again after a
 * discharge.
 */
export type FollowUps = Pick<WorkLauncher, 'launch' | 'recovery' | 'drain'> & {
  /**
   * Signals the workflow, in the background, that the follow-up has changed, so
   * that it checks now instead of next round.
   */
  wake(accountId: string, notificationId: string): void;
};

export function createFollowUps(deps: {
  store: Store;
  temporal: Client;
  logger: Logger;
}): FollowUps {
  const launcher = createWorkLauncher(deps, {
    name: 'follow-ups of discharges',
    id: 'notificationId',
    rows: followUpRows,
    notStarted:
      'the workflow of a follow-up could not be started; reconcile starts it later',
    type: WORKFLOW_TYPES.dischargeFollowUp,
    workflowId: dischargeFollowUpWorkflowId,
    async input(
      accountId,
      notificationId,
    ): Promise<DischargeFollowUpInput | undefined> {
      const startedAt = await deps.store.asAccount(accountId, (tx) =>
        readFollowUpStart(tx, notificationId),
      );
      // Undefined: it ended, or was deleted with its patient, before its
      // workflow was started.
      return (
        startedAt && {
          accountId,
          notificationId,
          startedAt: startedAt.toISOString(),
          plan: FOLLOW_UP_PLAN,
        }
      );
    },
    priority: PRIORITY.monitoring,
    summary: 'Follow-up of a discharge',
    end: (tx, notificationId) =>
      endFollowUps(
        tx,
        [notificationId],
        'cancelled',
        'The workflow was ended from outside; the follow-up stopped',
      ),
  });
  return {
    ...launcher,
    wake: (_accountId, notificationId) =>
      launcher.background.run(
        'a follow-up could not be signalled; it notices the change at its next round',
        { notificationId },
        () =>
          launcher.signal(notificationId, DISCHARGE_FOLLOW_UP_MESSAGES.look),
      ),
  };
}

/**
 * After the commit: starts the workflows of follow-ups that a subject opened,
 * and wakes those of the ones it ended.
 */
export function continueFollowUps(
  followUps: Pick<FollowUps, 'launch' | 'wake'>,
  applied: readonly Applied[],
): void {
  for (const { accountId, opened, ended } of applied.flatMap(
    ({ updates }) => updates,
  )) {
    for (const notificationId of opened)
      followUps.launch(accountId, notificationId);
    for (const notificationId of ended)
      followUps.wake(accountId, notificationId);
  }
}
