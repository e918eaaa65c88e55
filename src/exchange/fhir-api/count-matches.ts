import type { Store } from '../platform/database/database.ts';
import { countConsolidated } from '../records/read-consolidated.ts';
import { type SearchPlace, searchServed } from './recorded-consents.ts';
import { COUNT_MAX, type SearchRequest } from './rules/search-request.ts';

/** The number of matches of a search. Reads page by page, each in a transaction of its own; without criteria only counts. */
export async function countMatches(
  store: Pick<Store, 'asAccount'>,
  accountId: string,
  of: { patientId: string; resourceType: string; request: SearchRequest },
): Promise<number> {
  const { patientId, resourceType, request } = of;
  const isAll = request.clauses.length === 0 && request.lastUpdated.length === 0 && request.ids === undefined;
  if (isAll && resourceType !== 'Consent') {
    const counts = await store.asAccount(accountId, (tx) =>
      countConsolidated(tx, patientId, { types: [resourceType] }),
    );
    return counts[resourceType] ?? 0;
  }
  let total = 0;
  let after: SearchPlace | undefined;
  do {
    const page = await store.asAccount(accountId, (tx) =>
      searchServed(tx, { ...of, request: { ...request, count: COUNT_MAX } }, after),
    );
    total += page.matches.length;
    after = page.next;
  } while (after !== undefined);
  return total;
}
