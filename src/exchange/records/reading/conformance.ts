import type { Store } from '../../platform/database/database.ts';
import type { Json } from '../rules/json.ts';
import { ConformanceCount } from '../rules/us-core/us-core.ts';
import { type ConsolidatedFilter, type ConsolidatedPlace, readConsolidated } from './read-consolidated.ts';

const RESOURCES_PER_PAGE = 200;

/**
 * Counts how a patient's record conforms to US Core; reads it page by page. Call `RecordKeeper.merge` before.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function countConformance(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter }: { accountId: string; patientId: string; filter: ConsolidatedFilter },
): Promise<ConformanceCount> {
  const count = new ConformanceCount();
  let after: ConsolidatedPlace | undefined;
  do {
    const page = await store.asAccount(accountId, (tx) =>
      readConsolidated(tx, patientId, filter, after, RESOURCES_PER_PAGE),
    );
    for (const { content, origins } of page.resources)
      count.add(content as unknown as Json, origins[0]?.source);
    after = page.next;
  } while (after !== undefined);
  return count;
}
