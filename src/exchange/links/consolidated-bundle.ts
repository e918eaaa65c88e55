import type { Store } from '../store/database.ts';
import { type ResourcePlace, readResourcePage } from '../store/resource-pages.ts';

const RESOURCES_PER_PAGE = 200;

/**
 * A patient's stored resources as the text of a FHIR collection Bundle, piece by piece: a slow reader holds neither
 * the whole record in memory nor a connection to the database.
 */
export async function* consolidatedBundle(
  store: Store,
  target: { accountId: string; patientId: string },
): AsyncGenerator<string> {
  yield `{"resourceType":"Bundle","type":"collection","timestamp":"${new Date().toISOString()}","entry":[`;
  let after: ResourcePlace | undefined;
  let separator = '';
  for (;;) {
    const page = await store.asAccount(target.accountId, (tx) =>
      readResourcePage(tx, target.patientId, after, RESOURCES_PER_PAGE),
    );
    for (const { content } of page) {
      yield `${separator}{"resource":${JSON.stringify(content)}}`;
      separator = ',';
    }
    after = page.at(-1);
    if (page.length < RESOURCES_PER_PAGE) break;
  }
  yield ']}';
}
