import type { PatientDemographics } from '../../../../contract/patients.ts';
import { normaliseText } from './patient-normalisation.ts';

/** The ids of a patient at other systems, by system. Stored without duplicates, and without systems that have no id. */
export type AdditionalIdentifiers = Record<string, string[]>;

/** Converts a request to the stored form. */
export function normaliseAdditionalIdentifiers(
  given: PatientDemographics['additionalIdentifiers'] = {},
): AdditionalIdentifiers {
  return uniteAdditionalIdentifiers({}, given);
}

/** The union for each system: known ids first. Ids are case-sensitive, because a system may distinguish them by case. */
export function uniteAdditionalIdentifiers(
  known: AdditionalIdentifiers,
  given: PatientDemographics['additionalIdentifiers'],
): AdditionalIdentifiers {
  if (given === undefined) return known;
  const united = { ...known };
  for (const [system, ids = []] of Object.entries(given)) {
    const all = new Set([...(known[system] ?? []), ...ids.map(normaliseText)]);
    if (all.size > 0) united[system] = [...all];
  }
  return united;
}

/** The number of ids at the system that has most of them. */
export const mostIdsAtOneSystem = (identifiers: AdditionalIdentifiers): number =>
  Math.max(0, ...Object.values(identifiers).map((ids) => ids.length));
