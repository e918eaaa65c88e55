import { ScheduleOverlapPolicy } from '@temporalio/client';
import { sql } from 'kysely';
import type { DirectMailboxInput } from '../../../../contract/direct-mailbox-workflow.ts';
import {
  directMailboxWorkflowId,
  laneOf,
  PRIORITY,
  WORKFLOW_TYPES,
} from '../../../../contract/temporal.ts';
import { workflowDetails } from '../../../../contract/workflow-details.ts';
import type { Store, SystemTx } from '../../../platform/database/database.ts';
import { rowsOf } from '../../../platform/database/pg-arrays.ts';
import {
  itemRecovery,
  type Recovery,
} from '../../../platform/recovery/recovery.ts';
import {
  endSchedule,
  putSchedule,
  type Scheduler,
} from '../../../platform/workflows/schedules.ts';
import { READ_WITHIN } from './mailbox-store.ts';

/**
 * Makes or changes the Temporal Schedule that reads an account's mailbox.
 *
 * @returns whether there was none
 */
function scheduleReading(
  temporal: Scheduler,
  accountId: string,
  everySeconds: number,
): Promise<boolean> {
  const scheduleId = directMailboxWorkflowId(accountId);
  const input: DirectMailboxInput = { accountId };
  return putSchedule(temporal, {
    scheduleId,
    spec: { intervals: [{ every: everySeconds * 1_000 }] },
    action: {
      type: 'startWorkflow',
      workflowType: WORKFLOW_TYPES.directMailbox,
      workflowId: scheduleId,
      taskQueue: laneOf(PRIORITY.interactive),
      args: [input],
      staticSummary: 'Reading of a mailbox for Direct messages',
      staticDetails: workflowDetails(WORKFLOW_TYPES.directMailbox),
    },
    policies: {
      overlap: ScheduleOverlapPolicy.SKIP,
      // Each reading takes all that came, so none is made up for.
      catchupWindow: everySeconds * 1_000,
    },
  });
}

/** Deletes the Schedule, if there is one. A reading under way goes on. */
export const endReading = (
  temporal: Scheduler,
  accountId: string,
): Promise<void> => endSchedule(temporal, directMailboxWorkflowId(accountId));

interface UnreadMailbox {
  accountId: string;
  everySeconds: number;
  since: Date;
}

/**
 * Gives a schedule to each mailbox that is new or was changed, and to one that
 * has not been read for long: after a restore, Temporal may know nothing of it.
 */
export const mailboxSchedules = ({
  store,
  temporal,
}: {
  store: Pick<Store, 'asSystem'>;
  temporal: Scheduler;
}): Recovery =>
  itemRecovery<UnreadMailbox>({
    name: 'mailboxes for Direct messages',
    find: (limit) => store.asSystem((tx) => unreadMailboxes(tx, limit)),
    heal: ({ accountId, everySeconds }) =>
      scheduleReading(temporal, accountId, everySeconds),
  });

const unreadMailboxes = (
  tx: SystemTx,
  limit: number,
): Promise<UnreadMailbox[]> =>
  rowsOf(
    tx,
    sql<UnreadMailbox>`
      select account_id as "accountId", (settings -> 'readEverySeconds')::integer as "everySeconds",
        coalesce(read_through, changed_at) as since
      from direct_mailbox
      where fault is null and (read_through is null
        or read_through < now() - ${READ_WITHIN})
      order by since limit ${limit}`,
  );
