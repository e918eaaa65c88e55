import { lookupTable } from '../../../lib/lookup-table.ts';
import table from './resource-types.json' with { type: 'json' };

/**
 * Types that need not name a patient; every other type must name the person.
 */
export const SUPPORTING_TYPES: ReadonlySet<string> = new Set(table.supporting);

/**
 * The FHIR R4 types about one patient that a record may contain, besides the
 * supporting types.
 */
export const CLINICAL_TYPES: ReadonlySet<string> = new Set(table.clinical);

export const MEDICATION_TYPES: ReadonlySet<string> = new Set(table.medications);

/**
 * A resource of the type is meaningless unless it has at least one of these
 * elements.
 */
export const MINIMUM: Readonly<Record<string, readonly string[]>> = lookupTable(
  table.minimum,
);

/** The types that the FHIR API serves: each can be read and searched. */
export const SERVED_TYPES: readonly string[] = [
  ...new Set([...CLINICAL_TYPES, ...SUPPORTING_TYPES]),
].sort();
