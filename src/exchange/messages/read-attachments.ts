import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import type { RecordKeeper } from '../records/record-keeper.ts';
import { markMessageRead, messagesToRead } from './message-store.ts';

/** Messages per run of `reconcile`, which has two minutes in total: a C-CDA document takes about a second. */
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
}): Recovery => ({
  name: 'attachments of messages',
  async takeUp(limit) {
    const messages = await store.asSystem((tx) => messagesToRead(tx, Math.min(limit, MESSAGES_MAX)));
    const failures: unknown[] = [];
    for (const { accountId, patientId, messageId } of messages) {
      try {
        await records.merge(accountId, patientId, { documentsOf: 'message' });
        await store.asAccount(accountId, (tx) => markMessageRead(tx, messageId));
      } catch (error) {
        failures.push(error);
      }
    }
    // A failure does not stop the remaining messages; the first one is reported at the end.
    if (failures.length > 0) throw failures[0];
    return messages.length;
  },
});
