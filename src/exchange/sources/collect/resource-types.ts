import type { SourceType } from '../../../contract/primitives.ts';

/** The resource types that a source is asked for, and the types of resources that those refer to. */
export interface ResourceTypes {
  /** About one patient; kept only when they name a requested patient. */
  clinical: readonly string[];
  /** Usually name no patient; kept unless they name another patient. */
  supporting: readonly string[];
}

const SUPPORTING = ['Organization', 'Practitioner', 'PractitionerRole', 'Location'];
const MEDICATION_CLINICAL = [
  'MedicationRequest',
  'MedicationDispense',
  'MedicationStatement',
  'MedicationAdministration',
];

const TYPES: Record<SourceType, ResourceTypes> = {
  hie: {
    clinical: [
      'Patient',
      'Condition',
      'AllergyIntolerance',
      'Encounter',
      'Observation',
      'Procedure',
      'Immunization',
      'ImmunizationEvaluation',
      'ImmunizationRecommendation',
      'DiagnosticReport',
      'DocumentReference',
      ...MEDICATION_CLINICAL,
      'CarePlan',
      'CareTeam',
      'Goal',
      'ServiceRequest',
      'Specimen',
      'ImagingStudy',
      'Media',
      'Composition',
      'ClinicalImpression',
      'RiskAssessment',
      'FamilyMemberHistory',
      'DetectedIssue',
      'DeviceRequest',
      'DeviceUseStatement',
      'NutritionOrder',
      'Communication',
      'Consent',
      'Coverage',
      'Claim',
      'ExplanationOfBenefit',
      'EpisodeOfCare',
      'Appointment',
      'Flag',
      'List',
      'QuestionnaireResponse',
      'RelatedPerson',
      'AdverseEvent',
      'SupplyDelivery',
      'SupplyRequest',
      'VisionPrescription',
    ],
    supporting: [
      ...SUPPORTING,
      'Medication',
      'Substance',
      'Device',
      'Provenance',
      'HealthcareService',
      'Endpoint',
    ],
  },
  pharmacy: {
    clinical: MEDICATION_CLINICAL,
    supporting: [...SUPPORTING, 'Medication'],
  },
  lab: {
    clinical: ['DiagnosticReport', 'Observation', 'Specimen', 'ServiceRequest'],
    supporting: SUPPORTING,
  },
};

export function resourceTypesOf(source: SourceType): ResourceTypes {
  return TYPES[source];
}

/** Types to search by patient without $everything: the clinical ones, and supporting ones that often name a patient. */
export function searchedTypesOf(source: SourceType): string[] {
  const { clinical, supporting } = TYPES[source];
  return [...clinical, ...supporting.filter((type) => type === 'Device' || type === 'Provenance')];
}

/** Types without which a record of this source says little. They are asked for even if the source does not list them. */
const NEEDED: Record<SourceType, readonly string[]> = {
  hie: [
    'Condition',
    'AllergyIntolerance',
    'MedicationRequest',
    'Observation',
    'DiagnosticReport',
    'Procedure',
    'Immunization',
    'Encounter',
    'DocumentReference',
  ],
  pharmacy: ['MedicationRequest', 'MedicationDispense'],
  lab: ['DiagnosticReport', 'Observation'],
};

export const neededTypesOf = (source: SourceType): readonly string[] => NEEDED[source];

/** Types whose search parameter for the patient is not `patient`. */
const PATIENT_PARAMETER: Record<string, string> = { AdverseEvent: 'subject', Patient: '_id' };

export function patientParameterOf(type: string): string {
  return PATIENT_PARAMETER[type] ?? 'patient';
}

/** Whether resources of this type may refer to a Medication, which names the drug. */
export function refersToMedication(type: string): boolean {
  return MEDICATION_CLINICAL.includes(type);
}
