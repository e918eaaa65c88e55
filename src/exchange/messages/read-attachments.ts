import type { Store } from '../platform/database/database.ts';
import { itemRecovery, type Recovery } from '../platform/recovery/recovery.ts';
import type { RecordKeeper } from '../records/record-keeper.ts';
import { markMessageRead, messagesToRead } from './message-store.ts';

/** Messages per round of `reconcile`: a C-CDA document takes about a second. */
const MESSAGES_MAX = 20;

/**
 * Converts the C-CDA documents attached to messages to FHIR and merges them into their patients' records. A worker does this
 * later, so that the gateway that receives a message need not wait.
 */
export const attachmentsToRead = ({
  store,
  records,
}: {
  store: Store;
  records: Pick<RecordKeeper, 'merge'>;
}): Recovery =>
  itemRecovery({
    name: 'attachments of messages',
    limit: MESSAGES_MAX,
    find: (limit) => store.asSystem((tx) => messagesToRead(tx, limit)),
    async heal({ accountId, patientId, messageId }) {
      await records.merge(accountId, patientId, { documentsOf: 'message' });
      await store.asAccount(accountId, (tx) => markMessageRead(tx, messageId));
      return true;
    },
  });
