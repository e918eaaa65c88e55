import {
  type CcdaConversion,
  type CcdaNames,
  convertCcda,
} from '#ccda-to-fhir';
import { withStatedOn } from '../rules/provenance.ts';

/**
 * Converts a C-CDA document (`convertCcda`) to resources that have the time of
 * the document as an extension of their `meta`.
 *
 * @throws when the document is not well-formed
 */
export function convertDatedCcda(
  bytes: Uint8Array,
  names: CcdaNames,
): CcdaConversion {
  const conversion = convertCcda(bytes, names);
  if (conversion.kind !== 'converted') return conversion;
  const { statedOn, ...rest } = conversion;
  const resources = conversion.resources.map((resource) =>
    withStatedOn(resource, statedOn),
  );
  return { ...rest, resources };
}
