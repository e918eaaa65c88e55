import type { ElementOf, ResourceType } from '#record-summary/fhir';
import { lookupTable } from '../../../lib/lookup-table.ts';

/** A set that is asked about types from outside. */
export const typesOf = (
  ...types: readonly ResourceType[]
): ReadonlySet<string> => new Set(types);

/**
 * Types that need not name a patient; every other type must name the person.
 */
export const SUPPORTING_TYPES = typesOf(
  'Device',
  'Endpoint',
  'HealthcareService',
  'Location',
  'Medication',
  'Organization',
  'Practitioner',
  'PractitionerRole',
  'Provenance',
  'Substance',
);

/**
 * The FHIR R4 types about one patient that a record may contain, besides the
 * supporting types.
 */
export const CLINICAL_TYPES = typesOf(
  'AdverseEvent',
  'AllergyIntolerance',
  'Appointment',
  'BodyStructure',
  'CarePlan',
  'CareTeam',
  'Claim',
  'ClinicalImpression',
  'Communication',
  'CommunicationRequest',
  'Composition',
  'Condition',
  'Consent',
  'Coverage',
  'DetectedIssue',
  'DeviceRequest',
  'DeviceUseStatement',
  'DiagnosticReport',
  'DocumentReference',
  'Encounter',
  'EpisodeOfCare',
  'ExplanationOfBenefit',
  'FamilyMemberHistory',
  'Flag',
  'Goal',
  'ImagingStudy',
  'Immunization',
  'ImmunizationEvaluation',
  'ImmunizationRecommendation',
  'List',
  'Media',
  'MedicationAdministration',
  'MedicationDispense',
  'MedicationRequest',
  'MedicationStatement',
  'NutritionOrder',
  'Observation',
  'Patient',
  'Procedure',
  'QuestionnaireResponse',
  'RelatedPerson',
  'RiskAssessment',
  'ServiceRequest',
  'Specimen',
  'SupplyDelivery',
  'SupplyRequest',
  'Task',
  'VisionPrescription',
);

export const MEDICATION_TYPES = typesOf(
  'MedicationAdministration',
  'MedicationDispense',
  'MedicationRequest',
  'MedicationStatement',
);

const MINIMUM_OF_TYPES: {
  readonly [T in ResourceType]?: readonly ElementOf<T>[];
} = {
  AllergyIntolerance: ['code', 'reaction'],
  Condition: ['code'],
  DiagnosticReport: ['code'],
  DocumentReference: ['content'],
  Encounter: ['class', 'type', 'period'],
  Immunization: ['vaccineCode'],
  MedicationAdministration: [
    'medicationCodeableConcept',
    'medicationReference',
  ],
  MedicationDispense: ['medicationCodeableConcept', 'medicationReference'],
  MedicationRequest: ['medicationCodeableConcept', 'medicationReference'],
  MedicationStatement: ['medicationCodeableConcept', 'medicationReference'],
  Observation: ['code'],
  Procedure: ['code'],
};

/**
 * A resource of the type is meaningless unless it has at least one of these
 * elements.
 */
export const MINIMUM: Readonly<Record<string, readonly string[]>> =
  lookupTable(MINIMUM_OF_TYPES);

/** The types that the FHIR API serves: each can be read and searched. */
export const SERVED_TYPES: readonly string[] = [
  ...new Set([...CLINICAL_TYPES, ...SUPPORTING_TYPES]),
].sort();
