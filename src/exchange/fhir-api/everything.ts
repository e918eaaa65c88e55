import { fhirJson } from '../../lib/written-decimals.ts';
import type { Store } from '../platform/database/database.ts';
import { completenessMeta } from '../records/completeness.ts';
import { readRecordCompleteness } from '../records/completeness-store.ts';
import type { ConsolidatedPlace } from '../records/consolidated-place.ts';
import { type ConsolidatedFilter, readConsolidated } from '../records/read-consolidated.ts';
import { entryOf } from './bundles.ts';
import { asServed, servedProvenance } from './served-resources.ts';

export interface EverythingOptions {
  accountId: string;
  patientId: string;
  filter: ConsolidatedFilter;
  /** Only resources that changed after this time. */
  since?: Date;
  after?: ConsolidatedPlace;
  /** Entries per page, without their Provenance; without it, everything is in one Bundle. */
  count?: number;
  base: string;
  self: string;
  /** The link to the page that begins at this place. */
  nextLink(place: ConsolidatedPlace): Promise<string>;
}

const READ_AT_ONCE = 200;

/**
 * Yields `$everything` as the JSON text of a Bundle, in pieces and in bounded memory: the Patient first, then by type, newest
 * first, each resource followed by its Provenance. A slow reader does not hold a database connection.
 */
export async function* everythingBundle(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter, since, after: start, count, base, self, nextLink }: EverythingOptions,
): AsyncGenerator<string> {
  const withProvenance = filter.types === undefined || filter.types.includes('Provenance');
  // Read first, so that data which arrives while we read is reported as still missing.
  const standing = await store.asAccount(accountId, (tx) => readRecordCompleteness(tx, patientId));
  yield `{"resourceType":"Bundle","meta":${JSON.stringify(completenessMeta(standing))},"type":"searchset","timestamp":"${new Date().toISOString()}"`;
  let separator = ',"entry":[';
  let after = start;
  let left = count ?? Number.POSITIVE_INFINITY;
  do {
    const page = await store.asAccount(accountId, async (tx) => {
      const { resources, next } = await readConsolidated(
        tx,
        patientId,
        filter,
        after,
        Math.min(left, READ_AT_ONCE),
      );
      return { resources: await asServed(tx, patientId, resources), next };
    });
    for (const resource of page.resources) {
      if (since !== undefined && resource.changedAt <= since) continue;
      const provenance = withProvenance ? servedProvenance(resource, patientId) : undefined;
      yield `${separator}${fhirJson(entryOf(base, resource.json, { mode: 'match' }))}`;
      separator = ',';
      if (provenance !== undefined)
        yield `,${JSON.stringify(entryOf(base, provenance, { mode: 'include' }))}`;
    }
    left -= page.resources.filter(({ id }) => id !== patientId).length;
    after = page.next;
  } while (after !== undefined && left > 0);
  const links = [
    { relation: 'self', url: self },
    ...(after === undefined ? [] : [{ relation: 'next', url: await nextLink(after) }]),
  ];
  // FHIR forbids empty arrays.
  yield `${separator === ',' ? ']' : ''},"link":${JSON.stringify(links)}}`;
}
