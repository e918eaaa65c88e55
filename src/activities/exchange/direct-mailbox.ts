import { ApplicationFailure } from '@temporalio/activity';
import { MailServerError } from '#direct';
import type {
  DirectMailboxInput,
  MailboxRead,
} from '../../contract/direct-mailbox-workflow.ts';
import type { DirectTrust } from '../../exchange/messaging/messages/direct/direct-trust.ts';
import { createMailboxReader } from '../../exchange/messaging/messages/direct/read-account-mailbox.ts';
import { endReading } from '../../exchange/messaging/messages/direct/reading-schedule.ts';
import type { Platform } from '../../exchange/platform/platform.ts';
import type { Services } from '../../exchange/services.ts';
import { withHeartbeat } from './heartbeat.ts';

export type DirectMailboxActivities = ReturnType<
  typeof createDirectMailboxActivities
>;

const HEARTBEAT_EVERY_MS = 2_000;

export function createDirectMailboxActivities(
  deps: Platform &
    Pick<Services, 'arrivals' | 'messages'> & { directTrust: DirectTrust },
) {
  const reader = createMailboxReader(deps);
  return {
    /** Takes in what is new; a later try goes on after it. */
    readDirectMailbox: ({
      accountId,
    }: DirectMailboxInput): Promise<MailboxRead> =>
      withHeartbeat(
        { everyMs: HEARTBEAT_EVERY_MS, toFailure: describeUnreadable },
        async (signal) => {
          const read = await reader.read(accountId, signal);
          if (read.isGone) await endReading(deps.temporal, accountId);
          return read;
        },
      ),
  };
}

const describeUnreadable = (error: unknown): unknown =>
  error instanceof MailServerError
    ? ApplicationFailure.create({ message: error.message, type: 'MailServer' })
    : error;
