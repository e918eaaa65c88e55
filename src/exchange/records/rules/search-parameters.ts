/** A FHIR search parameter of a type, with the elements that it searches. */
export interface SearchParameter {
  kind: 'token' | 'date';
  /** `a.b` is the element b of the element a; lists are searched item by item. */
  paths: readonly string[];
}

const token = (...paths: string[]): SearchParameter => ({ kind: 'token', paths });
const date = (...paths: string[]): SearchParameter => ({ kind: 'date', paths });

const status = token('status');
const code = token('code');
const category = token('category');
const effective = ['effectiveDateTime', 'effectivePeriod', 'effectiveInstant'];
const medication = token('medicationCodeableConcept');

/**
 * The search parameters of each type, as R4 and US Core define them. After a change, raise MERGE_RULES, so that every record
 * is indexed again.
 */
const BY_TYPE: Readonly<Record<string, Readonly<Record<string, SearchParameter>>>> = {
  AdverseEvent: { category, event: token('event'), date: date('date') },
  AllergyIntolerance: {
    category,
    code: token('code', 'reaction.substance'),
    criticality: token('criticality'),
    'clinical-status': token('clinicalStatus'),
    'verification-status': token('verificationStatus'),
    date: date('recordedDate'),
    onset: date('reaction.onset'),
  },
  Appointment: { status, date: date('start'), 'service-type': token('serviceType') },
  CarePlan: { category, status, intent: token('intent'), date: date('period') },
  CareTeam: { category, status, date: date('period') },
  Claim: { status, use: token('use'), created: date('created') },
  ClinicalImpression: { status, date: date('effectiveDateTime', 'effectivePeriod') },
  Communication: { status, category, sent: date('sent'), received: date('received') },
  CommunicationRequest: { status, category, authored: date('authoredOn') },
  Composition: { status, category, type: token('type'), date: date('date') },
  Condition: {
    category,
    code,
    'clinical-status': token('clinicalStatus'),
    'verification-status': token('verificationStatus'),
    severity: token('severity'),
    'onset-date': date('onsetDateTime', 'onsetPeriod'),
    'abatement-date': date('abatementDateTime', 'abatementPeriod'),
    'recorded-date': date('recordedDate'),
  },
  Consent: { status, category, scope: token('scope'), date: date('dateTime') },
  Coverage: { status, type: token('type') },
  DetectedIssue: { code, identified: date('identifiedDateTime', 'identifiedPeriod') },
  Device: { status, type: token('type') },
  DeviceRequest: { status, code: token('codeCodeableConcept'), 'authored-on': date('authoredOn') },
  DiagnosticReport: { category, code, status, date: date(...effective), issued: date('issued') },
  DocumentReference: {
    category,
    status,
    type: token('type'),
    date: date('date'),
    period: date('context.period'),
  },
  Encounter: {
    status,
    class: token('class'),
    type: token('type'),
    'reason-code': token('reasonCode'),
    'discharge-disposition': token('hospitalization.dischargeDisposition'),
    date: date('period'),
  },
  EpisodeOfCare: { status, type: token('type'), date: date('period') },
  ExplanationOfBenefit: { status, created: date('created') },
  FamilyMemberHistory: { status, code: token('condition.code'), date: date('date') },
  Flag: { date: date('period') },
  Goal: {
    category,
    description: token('description'),
    'lifecycle-status': token('lifecycleStatus'),
    'achievement-status': token('achievementStatus'),
    'start-date': date('startDate'),
    'target-date': date('target.dueDate'),
  },
  ImagingStudy: { status, modality: token('modality'), started: date('started') },
  Immunization: { status, 'vaccine-code': token('vaccineCode'), date: date('occurrenceDateTime') },
  ImmunizationEvaluation: { status, date: date('date') },
  ImmunizationRecommendation: { date: date('date') },
  List: { status, code, date: date('date') },
  Location: { status, type: token('type') },
  Media: { status, type: token('type'), created: date('createdDateTime', 'createdPeriod') },
  Medication: { status, code },
  MedicationAdministration: {
    status,
    code: medication,
    'effective-time': date('effectiveDateTime', 'effectivePeriod'),
  },
  MedicationDispense: {
    status,
    type: token('type'),
    code: medication,
    whenhandedover: date('whenHandedOver'),
    whenprepared: date('whenPrepared'),
  },
  MedicationRequest: {
    status,
    intent: token('intent'),
    category,
    code: medication,
    authoredon: date('authoredOn'),
  },
  MedicationStatement: {
    status,
    category,
    code: medication,
    effective: date('effectiveDateTime', 'effectivePeriod'),
  },
  NutritionOrder: { status, datetime: date('dateTime') },
  Observation: {
    category,
    code,
    status,
    'combo-code': token('code', 'component.code'),
    'value-concept': token('valueCodeableConcept'),
    date: date(...effective),
  },
  Organization: { type: token('type') },
  PractitionerRole: { role: token('code'), specialty: token('specialty') },
  Procedure: { status, code, category, date: date('performedDateTime', 'performedPeriod') },
  QuestionnaireResponse: { status, authored: date('authored') },
  RiskAssessment: { date: date('occurrenceDateTime', 'occurrencePeriod') },
  ServiceRequest: {
    status,
    code,
    category,
    intent: token('intent'),
    authored: date('authoredOn'),
    occurrence: date('occurrenceDateTime', 'occurrencePeriod'),
  },
  Specimen: {
    status,
    type: token('type'),
    collected: date('collection.collectedDateTime', 'collection.collectedPeriod'),
  },
  Substance: { code },
  SupplyDelivery: { status },
  SupplyRequest: { status, date: date('authoredOn') },
  Task: { status, code, intent: token('intent'), 'authored-on': date('authoredOn') },
  VisionPrescription: { status, datewritten: date('dateWritten') },
};

/** The types with search parameters of their own. */
export const SEARCHED_TYPES: readonly string[] = Object.keys(BY_TYPE);

const OF_ALL = { identifier: token('identifier') };

/** The search parameters of a type by name, without those that do not depend on content (`_id`, `patient`, …). */
export const searchParametersOf = (type: string): Readonly<Record<string, SearchParameter>> => ({
  ...OF_ALL,
  ...BY_TYPE[type],
});
