import type { PatientDemographics } from '../../../contract/patients.ts';
import type { Demographics } from './demographics.ts';
import { mergeDemographics } from './patient-normalisation.ts';
import { isSame } from './same-value.ts';

/** All of a patient that a change may set. */
export interface PatientContent extends Demographics {
  externalId: string | null;
  /** Lower case. */
  facilityIds: string[];
  hieOptOut: boolean;
  treatmentRelationship: boolean;
}

/** What a caller says beside demographics. */
export type StatedFacts = Pick<PatientDemographics, 'externalId' | 'status'>;

/** The content of a patient nobody knew. */
export function newContent(given: Demographics, facts: StatedFacts, facilityId: string): PatientContent {
  return {
    ...given,
    externalId: facts.externalId ?? null,
    facilityIds: [facilityId.toLowerCase()],
    hieOptOut: facts.status?.hieOptOut ?? false,
    treatmentRelationship: facts.status?.treatmentRelationship ?? true,
  };
}

/** A match: what is new is added to what is known; what is not said stays as it is. */
export function mergedContent(
  known: PatientContent,
  given: Demographics,
  facts: StatedFacts,
  facilityId: string,
): PatientContent {
  return {
    ...mergeDemographics(known, given),
    externalId: facts.externalId ?? known.externalId,
    facilityIds: unitedIds(known.facilityIds, [facilityId]),
    hieOptOut: facts.status?.hieOptOut ?? known.hieOptOut,
    treatmentRelationship: facts.status?.treatmentRelationship ?? known.treatmentRelationship,
  };
}

/** Known ids first, each once. */
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
  facilityIds: true,
  hieOptOut: true,
  treatmentRelationship: true,
} satisfies Record<keyof PatientContent, true>) as (keyof PatientContent)[];

/** Whether both would be stored alike. */
export function isSameContent(left: PatientContent, right: PatientContent): boolean {
  return MEMBERS.every((member) => isSame(left[member], right[member]));
}
