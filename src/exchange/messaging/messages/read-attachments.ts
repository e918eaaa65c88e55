import type { Store } from '../../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../../platform/recovery/recovery.ts';
import { ProcessEndedTooOften, type StartGuard } from '../../platform/recovery/start-guard.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { markMessageRead, messagesToRead } from './message-store.ts';

/** Messages per round of `reconcile`: a C-CDA document takes about a second. */
const MESSAGES_MAX = 20;

/**
 * Converts the C-CDA documents attached to messages to FHIR and merges them into their patients' records. A worker does this
 * later, so that the gateway that receives a message need not wait. Attachments that end the worker each time are given up and
 * reported as a failure once; the documents stay as they are.
 */
export const attachmentsToRead = ({
  store,
  records,
  startGuard,
}: {
  store: Store;
  startGuard: StartGuard;
  records: Pick<RecordKeeper, 'merge'>;
}): Recovery =>
  itemRecovery({
    name: 'attachments of messages',
    limit: MESSAGES_MAX,
    find: (limit) => store.asSystem((tx) => messagesToRead(tx, limit)),
    async heal({ accountId, patientId, messageId }, signal) {
      const counted = { accountId, name: `message/${messageId}`, progress: '' };
      const markRead = () => store.asAccount(accountId, (tx) => markMessageRead(tx, messageId));
      try {
        await startGuard.run(counted, signal, () =>
          records.merge(accountId, patientId, { documentsOf: 'message' }),
        );
      } catch (error) {
        if (error instanceof ProcessEndedTooOften) await markRead();
        throw error;
      }
      await markRead();
      return true;
    },
  });
