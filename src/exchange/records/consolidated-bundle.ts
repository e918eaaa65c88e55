import type { Store } from '../store/database.ts';
import type { ConsolidatedFilter } from './read-consolidated.ts';

/**
 * A patient's consolidated record as the text of a FHIR collection Bundle, piece by piece in bounded memory: the
 * Patient first, a fullUrl for each entry, each resource's Provenance right after it.
 */
export declare function consolidatedBundle(
  store: Store,
  of: { accountId: string; patientId: string; filter?: ConsolidatedFilter; withProvenance?: boolean },
): AsyncGenerator<string>;
