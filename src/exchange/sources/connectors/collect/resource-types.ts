import type { FhirResource } from 'fhir/r4.js';
import type { SourceType } from '../../../../contract/primitives.ts';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { MEDICATION_TYPES } from '../../../records/rules/resource-types.ts';

/**
 * The resource types that a source is asked for, and the types of resources
 * that those refer to.
 */
export interface ResourceTypes {
  /** About one patient; kept only when they name a requested patient. */
  clinical: readonly string[];
  /** Usually name no patient; kept unless they name another patient. */
  supporting: readonly string[];
  /**
   * Types without which a record of this source says little. They are asked for
   * even if the source does not list them.
   */
  needed: readonly string[];
}

const TYPES: Readonly<Record<SourceType, ResourceTypes>> = {
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
      'MedicationRequest',
      'MedicationDispense',
      'MedicationStatement',
      'MedicationAdministration',
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
      'Organization',
      'Practitioner',
      'PractitionerRole',
      'Location',
      'Medication',
      'Substance',
      'Device',
      'Provenance',
      'HealthcareService',
      'Endpoint',
    ],
    needed: [
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
  },
  pharmacy: {
    clinical: [
      'MedicationRequest',
      'MedicationDispense',
      'MedicationStatement',
      'MedicationAdministration',
    ],
    supporting: [
      'Organization',
      'Practitioner',
      'PractitionerRole',
      'Location',
      'Medication',
    ],
    needed: ['MedicationRequest', 'MedicationDispense'],
  },
  lab: {
    clinical: ['DiagnosticReport', 'Observation', 'Specimen', 'ServiceRequest'],
    supporting: [
      'Organization',
      'Practitioner',
      'PractitionerRole',
      'Location',
    ],
    needed: ['DiagnosticReport', 'Observation'],
  },
} satisfies Record<
  SourceType,
  Record<keyof ResourceTypes, FhirResource['resourceType'][]>
>;

export function resourceTypesOf(source: SourceType): ResourceTypes {
  return TYPES[source];
}

/**
 * Types to search by patient without $everything: the clinical ones, and
 * supporting ones that often name a patient.
 */
export function searchedTypesOf(source: SourceType): string[] {
  const { clinical, supporting } = TYPES[source];
  return [
    ...clinical,
    ...supporting.filter((type) => type === 'Device' || type === 'Provenance'),
  ];
}

export const neededTypesOf = (source: SourceType): readonly string[] =>
  TYPES[source].needed;

/** Types whose search parameter for the patient is not `patient`. */
const PATIENT_PARAMETER: Readonly<Record<string, string>> = lookupTable({
  AdverseEvent: 'subject',
  Patient: '_id',
});

export function patientParameterOf(type: string): string {
  return PATIENT_PARAMETER[type] ?? 'patient';
}

/**
 * Whether resources of this type may refer to a Medication, which names the
 * drug.
 */
export function refersToMedication(type: string): boolean {
  return MEDICATION_TYPES.has(type);
}
