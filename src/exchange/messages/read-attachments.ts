import type { Store } from '../platform/database/database.ts';
import type { Recovery } from '../platform/recovery/recovery.ts';
import type { RecordKeeper } from '../records/record-keeper.ts';
import { markMessageRead, messagesToRead } from './message-store.ts';

/** In one round of `reconcile`, which has two minutes for all: a C-CDA document takes a second or so. */
const MESSAGES_MAX = 20;

/**
 * Makes FHIR of the C-CDA documents that came with messages, and merges them into their patients' records: a worker's business,
 * which the gateway that takes a message in does not wait for.
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
    // One that cannot be read keeps no other waiting.
    if (failures.length > 0) throw failures[0];
    return messages.length;
  },
});
