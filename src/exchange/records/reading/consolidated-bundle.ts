import { fhirJson } from '../../../lib/written-decimals.ts';
import type { Store } from '../../platform/database/database.ts';
import { FHIR_PATH } from '../../platform/http/fhir-path.ts';
import { withAddressesAt } from '../rules/attachment-addresses.ts';
import type { Json } from '../rules/json.ts';
import { provenanceOf } from '../rules/provenance.ts';
import { inUsCore } from '../rules/us-core/us-core.ts';
import { completenessMeta } from './completeness.ts';
import { readRecordCompleteness } from './completeness-store.ts';
import type { ConsolidatedPlace } from './consolidated-place.ts';
import { type ConsolidatedFilter, readConsolidated } from './read-consolidated.ts';

const RESOURCES_PER_PAGE = 200;

export interface BundleOptions {
  accountId: string;
  patientId: string;
  filter?: ConsolidatedFilter;
  /** Each entry's fullUrl is the resource's address on our FHIR API, so that relative references resolve to entries. */
  publicBaseUrl: string;
  /** In a searchset each entry also has `search.mode`. */
  type?: 'collection' | 'searchset';
}

/**
 * Yields a patient's consolidated record as the JSON text of a FHIR Bundle, in pieces and in bounded memory: the Patient
 * first, then the resources, each followed by its Provenance (with `types`, only if they include `Provenance`). `meta`
 * states how complete the record is. A slow reader does not hold a database connection.
 *
 * @throws NotFoundError when the patient does not exist
 */
export async function* consolidatedBundle(
  store: Pick<Store, 'asAccount'>,
  { accountId, patientId, filter = {}, publicBaseUrl, type = 'collection' }: BundleOptions,
): AsyncGenerator<string> {
  const withProvenance = filter.types === undefined || filter.types.includes('Provenance');
  // Read first, so that data which arrives while we read is reported as still missing.
  const standing = await store.asAccount(accountId, (tx) => readRecordCompleteness(tx, patientId));
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
      yield `${separator}${entryOf(publicBaseUrl, resource.content, mode('match'))}`;
      separator = ',';
      isEmpty = false;
      const hasProvenance = resource.origins.length > 0 && resource.resourceType !== 'Provenance';
      if (withProvenance && hasProvenance) {
        yield `,${entryOf(publicBaseUrl, provenanceOf(resource, patientId), mode('include'))}`;
      }
    }
    after = page.next;
  } while (after !== undefined);
  // FHIR forbids empty arrays.
  yield isEmpty ? separator.replace(',"entry":[', '}') : ']}';
}

function entryOf(publicBaseUrl: string, content: object, mode?: 'match' | 'include'): string {
  const base = `${publicBaseUrl}${FHIR_PATH}`;
  const resource = withAddressesAt(base, inUsCore(content as Json));
  const { resourceType, id } = resource;
  const search = mode === undefined ? '' : `,"search":{"mode":"${mode}"}`;
  return `{"fullUrl":${JSON.stringify(`${base}/${String(resourceType)}/${String(id)}`)},"resource":${fhirJson(resource)}${search}}`;
}
