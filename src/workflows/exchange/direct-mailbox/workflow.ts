import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { DirectMailboxActivities } from '../../../activities/exchange/direct-mailbox.ts';
import type {
  DirectMailboxInput,
  MailboxRead,
} from '../../../contract/direct-mailbox-workflow.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';

const { readDirectMailbox } = proxyActivities<DirectMailboxActivities>({
  taskQueue: TASK_QUEUES.partners,
  startToCloseTimeout: '30 minutes',
  heartbeatTimeout: '15 seconds',
  // The schedule's next run follows anyway.
  retry: { initialInterval: '2 seconds', maximumAttempts: 3 },
  summary: 'Read the mailbox',
});

/**
 * Reads what has come into an account's mailbox for Direct messages.
 *
 * Durable so that each reading is seen with what it found, and one that fails
 * with the reason. Started by a schedule; readings of one mailbox do not
 * overlap. The step may run twice: it goes on after what was taken in.
 */
export async function directMailbox({
  accountId,
}: DirectMailboxInput): Promise<MailboxRead> {
  setCurrentDetails('Reading the mailbox');

  const read = await readDirectMailbox({ accountId });
  setCurrentDetails(detailsOf(read));
  return read;
}

function detailsOf({ isGone, ...counts }: MailboxRead): string {
  if (isGone) return 'The account has no mailbox any more';
  const facts = Object.entries(counts).filter(([, count]) => count > 0);

  return facts.length === 0
    ? 'Nothing new'
    : facts.map(([name, count]) => `- ${name}: ${count}`).join('\n');
}
