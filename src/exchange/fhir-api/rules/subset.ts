import { isJson, type Json, objectsOf } from '../../records/rules/json.ts';

/** Which elements of its matches a search returns; undefined: all. */
export interface Subset {
  /** Elements of the type: `code`, `value` (which stands for `valueQuantity` and the others). */
  elements?: readonly string[];
  withNarrative: boolean;
}

/**
 * The elements that a subset always has: those that FHIR demands and those that change the meaning of the others, such as a
 * status. Generated from the definitions of FHIR R4; a test compares them.
 */
export const ALWAYS: Readonly<Record<string, string>> = {
  AdverseEvent: 'actuality subject',
  AllergyIntolerance: 'clinicalStatus verificationStatus patient',
  Appointment: 'status participant',
  BodyStructure: 'active patient',
  CarePlan: 'status intent subject',
  CareTeam: 'status',
  Claim: 'status type use patient created provider priority insurance',
  ClinicalImpression: 'status subject',
  Communication: 'status',
  CommunicationRequest: 'status doNotPerform',
  Composition: 'status type date author title',
  Condition: 'clinicalStatus verificationStatus subject',
  Consent: 'status scope category',
  Coverage: 'status beneficiary payor',
  DetectedIssue: 'status',
  Device: 'status',
  DeviceRequest: 'status intent code subject',
  DeviceUseStatement: 'status subject device',
  DiagnosticReport: 'status code',
  DocumentReference: 'status content',
  Encounter: 'status class',
  Endpoint: 'status connectionType payloadType address',
  EpisodeOfCare: 'status patient',
  ExplanationOfBenefit: 'status type use patient created insurer provider outcome insurance',
  FamilyMemberHistory: 'status patient relationship',
  Flag: 'status code subject',
  Goal: 'lifecycleStatus description subject',
  HealthcareService: 'active',
  ImagingStudy: 'status subject',
  Immunization: 'status vaccineCode patient occurrence isSubpotent',
  ImmunizationEvaluation: 'status patient targetDisease immunizationEvent doseStatus',
  ImmunizationRecommendation: 'patient date recommendation',
  List: 'status mode',
  Location: 'status',
  Media: 'status content',
  Medication: 'status',
  MedicationAdministration: 'status medication subject effective',
  MedicationDispense: 'status medication',
  MedicationRequest: 'status intent doNotPerform medication subject',
  MedicationStatement: 'status medication subject',
  NutritionOrder: 'status intent patient dateTime',
  Observation: 'status code',
  Organization: 'active',
  Patient: 'active deceased link',
  Practitioner: '',
  PractitionerRole: '',
  Procedure: 'status subject',
  Provenance: 'target recorded agent',
  QuestionnaireResponse: 'status',
  RelatedPerson: 'active patient',
  RiskAssessment: 'status subject',
  ServiceRequest: 'status intent doNotPerform subject',
  Specimen: 'status',
  Substance: 'status code',
  SupplyDelivery: 'status',
  SupplyRequest: 'status item quantity',
  Task: 'status intent',
  VisionPrescription: 'status created patient dateWritten prescriber lensSpecification',
};
/** The elements whose names say which of several types their value has: `value` is `valueQuantity`, or `valueString`. */
export const CHOICES: ReadonlySet<string> = new Set([
  'abatement',
  'age',
  'asNeeded',
  'born',
  'code',
  'created',
  'deceased',
  'doseNumber',
  'effective',
  'identified',
  'item',
  'medication',
  'multipleBirth',
  'occurred',
  'occurrence',
  'onset',
  'performed',
  'quantity',
  'reported',
  'seriesDoses',
  'source',
  'start',
  'statusReason',
  'timing',
  'value',
]);
const OF_ALL = ['resourceType', 'id', 'meta', 'implicitRules', 'modifierExtension'];

const alwaysKept = (type: string): readonly string[] => [...OF_ALL, ...(ALWAYS[type] ?? '').split(' ')];

const SUBSETTED = {
  system: 'http://terminology.hl7.org/CodeSystem/v3-ObservationValue',
  code: 'SUBSETTED',
  display: 'subsetted',
};

/** The part of a resource that was asked for, marked as a part. Contained resources stay with the elements that refer to them. */
export function subsetOf(resource: Json, { elements, withNarrative }: Subset): Json {
  const kept =
    elements === undefined ? undefined : [...alwaysKept(String(resource.resourceType)), ...elements];
  const isKept = (key: string): boolean => {
    if (key === 'text') return withNarrative;
    return kept === undefined || kept.some((name) => isNamed(key.replace(/^_/, ''), name));
  };
  const part = Object.fromEntries(Object.entries(resource).filter(([key]) => isKept(key)));
  const withContained = resource.contained !== undefined && JSON.stringify(part).includes('"#');
  const meta = isJson(resource.meta) ? resource.meta : {};
  return {
    ...part,
    ...(withContained && { contained: resource.contained }),
    meta: { ...meta, tag: [...objectsOf(meta.tag), SUBSETTED] },
  };
}

const isNamed = (key: string, name: string): boolean =>
  key === name || (CHOICES.has(name) && key.startsWith(name) && /^[A-Z]/.test(key.slice(name.length)));
