import type { AllergyIntolerance } from 'fhir/r4.js';
import type { NumberedMapping } from '../element-mapping.ts';
import {
  asCodeOf,
  asCodingOf,
  asConcept,
  asLines,
  asReaction,
  asTime,
} from '../element-readers.ts';

const CLINICAL_STATUS =
  'http://terminology.hl7.org/CodeSystem/allergyintolerance-clinical';
const VERIFICATION_STATUS =
  'http://terminology.hl7.org/CodeSystem/allergyintolerance-verification';

type ClinicalStatus = 'active' | 'inactive' | 'resolved';
type VerificationStatus = 'unconfirmed' | 'confirmed' | 'entered-in-error';

const ACTIVE_ALLERGY: NumberedMapping<AllergyIntolerance>['resource'] = {
  resourceType: 'AllergyIntolerance',
  patient: { reference: 'Patient/person' },
  clinicalStatus: { coding: [{ system: CLINICAL_STATUS, code: 'active' }] },
};

/** HL7 table 0127 (AL1-2, IAM-2). */
const asAllergyCategory = asCodeOf({
  DA: 'medication',
  FA: 'food',
  EA: 'environment',
  AA: 'environment',
  PA: 'environment',
  LA: 'environment',
  MA: undefined,
  MC: undefined,
});

/** HL7 table 0128 (AL1-4, IAM-4). */
const SEVERITIES = {
  SV: 'severe',
  MO: 'moderate',
  MI: 'mild',
  U: undefined,
} as const;

/** An allergy. */
export const AL1_MAPPING: NumberedMapping<AllergyIntolerance> = {
  resource: ACTIVE_ALLERGY,
  number: ['AL1-3'],
  elements: [
    { to: 'code', from: ['AL1-3'], read: asConcept },
    { to: 'category[]', from: ['AL1-2'], read: asAllergyCategory },
    { to: 'reaction', from: ['AL1-5'], read: asReaction('AL1-4', SEVERITIES) },
    { to: 'onsetDateTime', from: ['AL1-6'], read: asTime },
  ],
};

/** An allergy by IAM, the newer form of AL1 (HL7 v2.5.1, 3.4.7). */
export const IAM_MAPPING: NumberedMapping<AllergyIntolerance> = {
  resource: ACTIVE_ALLERGY,
  number: ['IAM-7', 'IAM-3'],
  elements: [
    { to: 'code', from: ['IAM-3'], read: asConcept },
    { to: 'category[]', from: ['IAM-2'], read: asAllergyCategory },
    {
      to: 'type',
      from: ['IAM-9'],
      read: asCodeOf({ AL: 'allergy', IN: 'intolerance' }),
    },
    {
      to: 'clinicalStatus.coding[]',
      from: ['IAM-17'],
      read: asCodingOf<ClinicalStatus>(CLINICAL_STATUS, {
        I: 'inactive',
        C: undefined,
        D: undefined,
        E: undefined,
        P: undefined,
        S: undefined,
        U: undefined,
      }),
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['IAM-17'],
      read: asCodingOf<VerificationStatus>(VERIFICATION_STATUS, {
        C: 'confirmed',
        I: 'confirmed',
        P: 'unconfirmed',
        S: 'unconfirmed',
        U: 'unconfirmed',
        D: 'unconfirmed',
        E: undefined,
      }),
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['IAM-17'],
      read: asCodingOf<VerificationStatus>(VERIFICATION_STATUS, {
        E: 'entered-in-error',
        C: undefined,
        D: undefined,
        I: undefined,
        P: undefined,
        S: undefined,
        U: undefined,
      }),
      instead: 'clinicalStatus',
    },
    {
      to: 'verificationStatus.coding[]',
      from: ['IAM-6'],
      read: asCodingOf<VerificationStatus>(VERIFICATION_STATUS, {
        D: 'entered-in-error',
        A: undefined,
        U: undefined,
        X: undefined,
      }),
      instead: 'clinicalStatus',
    },
    { to: 'reaction', from: ['IAM-5'], read: asReaction('IAM-4', SEVERITIES) },
    { to: 'onsetDateTime', from: ['IAM-11'], read: asTime },
    { to: 'recordedDate', from: ['IAM-13', 'IAM-20'], read: asTime },
    { to: 'note[].text', from: ['IAM-8', 'IAM-12'], read: asLines },
  ],
};
