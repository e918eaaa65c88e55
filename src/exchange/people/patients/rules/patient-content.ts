import type { PatientDemographics } from '../../../../contract/patients.ts';
import {
  type AdditionalIdentifiers,
  normaliseAdditionalIdentifiers,
  uniteAdditionalIdentifiers,
} from './additional-identifiers.ts';
import type { Demographics } from './demographics.ts';
import { mergeDemographics } from './patient-normalisation.ts';
import { isSame } from './same-value.ts';

/** The members of a patient that a change can write. */
export interface PatientContent extends Demographics {
  externalId: string | null;
  additionalIdentifiers: AdditionalIdentifiers;
  /** Lower case. */
  facilityIds: string[];
  hieOptOut: boolean;
  treatmentRelationship: boolean;
}

/** The parts of a request other than demographics. */
export type StatedFacts = Pick<PatientDemographics, 'externalId' | 'additionalIdentifiers' | 'status'>;

/** The content of a new patient. */
export function newContent(given: Demographics, facts: StatedFacts, facilityId: string): PatientContent {
  return {
    firstNames: given.firstNames,
    lastNames: given.lastNames,
    dob: given.dob,
    gender: given.gender,
    addresses: given.addresses,
    contacts: given.contacts,
    personalIdentifiers: given.personalIdentifiers,
    externalId: facts.externalId ?? null,
    additionalIdentifiers: normaliseAdditionalIdentifiers(facts.additionalIdentifiers),
    facilityIds: [facilityId.toLowerCase()],
    hieOptOut: facts.status?.hieOptOut ?? false,
    treatmentRelationship: facts.status?.treatmentRelationship ?? true,
  };
}

/** The content of a matched patient: new values are added to the known ones; absent members stay as they are. */
export function mergedContent(
  known: PatientContent,
  given: Demographics,
  facts: StatedFacts,
  facilityId: string,
): PatientContent {
  return {
    ...mergeDemographics(known, given),
    externalId: facts.externalId ?? known.externalId,
    additionalIdentifiers: uniteAdditionalIdentifiers(
      known.additionalIdentifiers,
      facts.additionalIdentifiers,
    ),
    facilityIds: unitedIds(known.facilityIds, [facilityId]),
    hieOptOut: facts.status?.hieOptOut ?? known.hieOptOut,
    treatmentRelationship: facts.status?.treatmentRelationship ?? known.treatmentRelationship,
  };
}

/** The union of both lists, known ids first, added ids in lower case. */
export const unitedIds = (known: readonly string[], added: readonly string[]): string[] => [
  ...new Set([...known, ...added.map((id) => id.toLowerCase())]),
];

const MEMBERS = Object.keys({
  firstNames: true,
  lastNames: true,
  dob: true,
  gender: true,
  addresses: true,
  contacts: true,
  personalIdentifiers: true,
  externalId: true,
  additionalIdentifiers: true,
  facilityIds: true,
  hieOptOut: true,
  treatmentRelationship: true,
} satisfies Record<keyof PatientContent, true>) as (keyof PatientContent)[];

/** Whether both have the same stored form. */
export function isSameContent(left: PatientContent, right: PatientContent): boolean {
  return MEMBERS.every((member) => isSame(left[member], right[member]));
}
