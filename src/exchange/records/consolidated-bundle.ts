import type { Store } from '../platform/database/database.ts';
import { completenessMeta } from './completeness.ts';
import { readRecordStanding } from './completeness-store.ts';
import { type ConsolidatedFilter, type ConsolidatedPlace, readConsolidated } from './read-consolidated.ts';
import { provenanceOf } from './rules/provenance.ts';

const RESOURCES_PER_PAGE = 200;

export interface BundleOptions {
  accountId: string;
  patientId: string;
  filter?: ConsolidatedFilter;
  /** Each entry's fullUrl is `<this>/<type>/<id>`, so that relative references lead to entries. */
  fullUrlBase: string;
  /** A searchset also says of each entry why it is there. */
  type?: 'collection' | 'searchset';
}

/**
 * A patient's consolidated record as the text of a FHIR Bundle, piece by piece in bounded memory: the
 * Patient first, a fullUrl for each entry, each resource's Provenance right after it (with `types`, only when
 * `Provenance` is among them); `meta` says how complete it is. A slow reader holds no connection to the database.
 *
 * @throws NotFoundError when there is no such patient
 */
export async function* consolidatedBundle(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter = {}, fullUrlBase, type = 'collection' }: BundleOptions,
): AsyncGenerator<string> {
  const withProvenance = filter.types === undefined || filter.types.includes('Provenance');
  // First: what comes while it is read is announced as still to come.
  const standing = await store.asAccount(accountId, (tx) => readRecordStanding(tx, patientId));
  const meta = JSON.stringify(completenessMeta(standing));
  let separator = `{"resourceType":"Bundle","meta":${meta},"type":"${type}","timestamp":"${new Date().toISOString()}","entry":[`;
  const mode = (why: 'match' | 'include') => (type === 'searchset' ? why : undefined);
  let isEmpty = true;
  let after: ConsolidatedPlace | undefined;
  do {
    const page = await store.asAccount(accountId, (tx) =>
      readConsolidated(tx, patientId, filter, after, RESOURCES_PER_PAGE),
    );
    for (const resource of page.resources) {
      yield `${separator}${entryOf(fullUrlBase, resource.content, mode('match'))}`;
      separator = ',';
      isEmpty = false;
      const tellsOrigins = resource.origins.length > 0 && resource.resourceType !== 'Provenance';
      if (withProvenance && tellsOrigins) {
        yield `,${entryOf(fullUrlBase, provenanceOf(resource, patientId), mode('include'))}`;
      }
    }
    after = page.next;
  } while (after !== undefined);
  // FHIR has no empty lists.
  yield isEmpty ? separator.replace(',"entry":[', '}') : ']}';
}

function entryOf(base: string, resource: object, mode?: 'match' | 'include'): string {
  const { resourceType, id } = resource as { resourceType: string; id: string };
  const search = mode === undefined ? '' : `,"search":{"mode":"${mode}"}`;
  return `{"fullUrl":${JSON.stringify(`${base}/${resourceType}/${id}`)},"resource":${JSON.stringify(resource)}${search}}`;
}
