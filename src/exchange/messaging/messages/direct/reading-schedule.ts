import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
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
import { READ_WITHIN } from './mailbox-store.ts';

const CALL_TIMEOUT_MS = 5_000;

type Scheduler = Pick<Client, 'schedule' | 'withDeadline'>;

/**
 * Makes or changes the Temporal Schedule that reads an account's mailbox. A
 * schedule that an operator has paused stays paused.
 *
 * @returns whether there was none
 */
async function scheduleReading(
  temporal: Scheduler,
  accountId: string,
  everySeconds: number,
): Promise<boolean> {
  const scheduleId = directMailboxWorkflowId(accountId);
  const input: DirectMailboxInput = { accountId };
  const schedule = {
    spec: { intervals: [{ every: everySeconds * 1_000 }] },
    action: {
      type: 'startWorkflow' as const,
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
  };
  return temporal.withDeadline(Date.now() + CALL_TIMEOUT_MS, async () => {
    try {
      await temporal.schedule.create({ ...schedule, scheduleId });
      return true;
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await temporal.schedule
        .getHandle(scheduleId)
        .update(({ state }) => ({ ...schedule, state }));
      return false;
    }
  });
}

/** Deletes the Schedule, if there is one. A reading under way goes on. */
export async function endReading(
  temporal: Scheduler,
  accountId: string,
): Promise<void> {
  const handle = temporal.schedule.getHandle(
    directMailboxWorkflowId(accountId),
  );
  await temporal
    .withDeadline(Date.now() + CALL_TIMEOUT_MS, () => handle.delete())
    .catch((error: unknown) => {
      if (!(error instanceof ScheduleNotFoundError)) throw error;
    });
}

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
