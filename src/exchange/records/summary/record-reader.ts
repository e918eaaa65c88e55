import type { Store } from '../../platform/database/database.ts';
import { readRecordCompleteness } from '../completeness-store.ts';
import {
  type ConsolidatedFilter,
  type ConsolidatedPlace,
  countConsolidated,
  readConsolidated,
} from '../read-consolidated.ts';
import type { RecordReader } from './summarise.ts';

const RESOURCES_PER_PAGE = 200;

/** A patient's consolidated record, read page by page; bring it up to date first. Throws NotFoundError. */
export async function openRecordReader(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter }: { accountId: string; patientId: string; filter: ConsolidatedFilter },
): Promise<RecordReader> {
  return {
    // First: what comes while it is read is announced as still to come.
    standing: await store.asAccount(accountId, (tx) => readRecordCompleteness(tx, patientId)),
    counts: await store.asAccount(accountId, (tx) => countConsolidated(tx, patientId, filter)),
    async *read(types) {
      let after: ConsolidatedPlace | undefined;
      do {
        const page = await store.asAccount(accountId, (tx) =>
          readConsolidated(tx, patientId, { ...filter, types }, after, RESOURCES_PER_PAGE),
        );
        yield* page.resources;
        after = page.next;
      } while (after !== undefined);
    },
  };
}
