import type { Store } from '../../platform/database/database.ts';
import type { RecordCompleteness } from '../reading/completeness-store.ts';
import { readRecordCompleteness } from '../reading/completeness-store.ts';
import type { ConsolidatedPlace } from '../reading/consolidated-place.ts';
import type { ConsolidatedResource } from '../reading/read-consolidated.ts';
import {
  type ConsolidatedFilter,
  countConsolidated,
  readConsolidated,
} from '../reading/read-consolidated.ts';

/** Access to a record for the summary, which reads it once for each table, page by page. */
export interface RecordReader {
  /** How complete it is. */
  standing: RecordCompleteness;
  /** Number of resources per type that match the filter. */
  counts: Readonly<Record<string, number>>;
  /** Resources of these types that match the filter, by type, newest first. */
  read(types: readonly string[]): AsyncIterable<ConsolidatedResource>;
}

const RESOURCES_PER_PAGE = 200;

/**
 * Opens a patient's consolidated record for reading page by page. Call `RecordKeeper.merge` before.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function openRecordReader(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter }: { accountId: string; patientId: string; filter: ConsolidatedFilter },
): Promise<RecordReader> {
  return {
    // Read first, so that data which arrives while we read is reported as still missing.
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
