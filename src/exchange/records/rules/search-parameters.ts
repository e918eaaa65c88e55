import type { ElementPath, ResourceType } from '#record-summary/fhir';

/** A FHIR search parameter of a type, with the elements that it searches. */
interface ParameterOf<T extends ResourceType> {
  kind: 'token' | 'date';
  /**
   * `a.b` is the element b of the element a; lists are searched item by item.
   */
  paths: readonly ElementPath<T>[];
}

const token = <T extends ResourceType>(
  ...paths: readonly ElementPath<T>[]
): ParameterOf<T> => ({ kind: 'token', paths });

const date = <T extends ResourceType>(
  ...paths: readonly ElementPath<T>[]
): ParameterOf<T> => ({ kind: 'date', paths });

/**
 * The search parameters of each type, as R4 and US Core define them. After a
 * change, raise MERGE_RULES, so that every record is indexed again.
 */
export const SEARCH_PARAMETERS: {
  readonly [T in ResourceType]?: Readonly<Record<string, ParameterOf<T>>>;
} = {
  AdverseEvent: {
    category: token('category'),
    event: token('event'),
    date: date('date'),
  },
  AllergyIntolerance: {
    category: token('category'),
    code: token('code', 'reaction.substance'),
    criticality: token('criticality'),
    'clinical-status': token('clinicalStatus'),
    'verification-status': token('verificationStatus'),
    date: date('recordedDate'),
    onset: date('reaction.onset'),
  },
  Appointment: {
    status: token('status'),
    date: date('start'),
    'service-type': token('serviceType'),
  },
  CarePlan: {
    category: token('category'),
    status: token('status'),
    intent: token('intent'),
    date: date('period'),
  },
  CareTeam: {
    category: token('category'),
    status: token('status'),
    date: date('period'),
  },
  Claim: {
    status: token('status'),
    use: token('use'),
    created: date('created'),
  },
  ClinicalImpression: {
    status: token('status'),
    date: date('effectiveDateTime', 'effectivePeriod'),
  },
  Communication: {
    status: token('status'),
    category: token('category'),
    sent: date('sent'),
    received: date('received'),
  },
  CommunicationRequest: {
    status: token('status'),
    category: token('category'),
    authored: date('authoredOn'),
  },
  Composition: {
    status: token('status'),
    category: token('category'),
    type: token('type'),
    date: date('date'),
  },
  Condition: {
    category: token('category'),
    code: token('code'),
    'clinical-status': token('clinicalStatus'),
    'verification-status': token('verificationStatus'),
    severity: token('severity'),
    'onset-date': date('onsetDateTime', 'onsetPeriod'),
    'abatement-date': date('abatementDateTime', 'abatementPeriod'),
    'recorded-date': date('recordedDate'),
  },
  Consent: {
    status: token('status'),
    category: token('category'),
    scope: token('scope'),
    date: date('dateTime'),
  },
  Coverage: {
    status: token('status'),
    type: token('type'),
  },
  DetectedIssue: {
    code: token('code'),
    identified: date('identifiedDateTime', 'identifiedPeriod'),
  },
  Device: {
    status: token('status'),
    type: token('type'),
  },
  DeviceRequest: {
    status: token('status'),
    code: token('codeCodeableConcept'),
    'authored-on': date('authoredOn'),
  },
  DiagnosticReport: {
    category: token('category'),
    code: token('code'),
    status: token('status'),
    date: date('effectiveDateTime', 'effectivePeriod'),
    issued: date('issued'),
  },
  DocumentReference: {
    category: token('category'),
    status: token('status'),
    type: token('type'),
    date: date('date'),
    period: date('context.period'),
  },
  Encounter: {
    status: token('status'),
    class: token('class'),
    type: token('type'),
    'reason-code': token('reasonCode'),
    'discharge-disposition': token('hospitalization.dischargeDisposition'),
    date: date('period'),
  },
  EpisodeOfCare: {
    status: token('status'),
    type: token('type'),
    date: date('period'),
  },
  ExplanationOfBenefit: {
    status: token('status'),
    created: date('created'),
  },
  FamilyMemberHistory: {
    status: token('status'),
    code: token('condition.code'),
    date: date('date'),
  },
  Flag: {
    date: date('period'),
  },
  Goal: {
    category: token('category'),
    description: token('description'),
    'lifecycle-status': token('lifecycleStatus'),
    'achievement-status': token('achievementStatus'),
    'start-date': date('startDate'),
    'target-date': date('target.dueDate'),
  },
  ImagingStudy: {
    status: token('status'),
    modality: token('modality'),
    started: date('started'),
  },
  Immunization: {
    status: token('status'),
    'vaccine-code': token('vaccineCode'),
    date: date('occurrenceDateTime'),
  },
  ImmunizationEvaluation: {
    status: token('status'),
    date: date('date'),
  },
  ImmunizationRecommendation: {
    date: date('date'),
  },
  List: {
    status: token('status'),
    code: token('code'),
    date: date('date'),
  },
  Location: {
    status: token('status'),
    type: token('type'),
  },
  Media: {
    status: token('status'),
    type: token('type'),
    created: date('createdDateTime', 'createdPeriod'),
  },
  Medication: {
    status: token('status'),
    code: token('code'),
  },
  MedicationAdministration: {
    status: token('status'),
    code: token('medicationCodeableConcept'),
    'effective-time': date('effectiveDateTime', 'effectivePeriod'),
  },
  MedicationDispense: {
    status: token('status'),
    type: token('type'),
    code: token('medicationCodeableConcept'),
    whenhandedover: date('whenHandedOver'),
    whenprepared: date('whenPrepared'),
  },
  MedicationRequest: {
    status: token('status'),
    intent: token('intent'),
    category: token('category'),
    code: token('medicationCodeableConcept'),
    authoredon: date('authoredOn'),
  },
  MedicationStatement: {
    status: token('status'),
    category: token('category'),
    code: token('medicationCodeableConcept'),
    effective: date('effectiveDateTime', 'effectivePeriod'),
  },
  NutritionOrder: {
    status: token('status'),
    datetime: date('dateTime'),
  },
  Observation: {
    category: token('category'),
    code: token('code'),
    status: token('status'),
    'combo-code': token('code', 'component.code'),
    'value-concept': token('valueCodeableConcept'),
    date: date('effectiveDateTime', 'effectivePeriod', 'effectiveInstant'),
  },
  Organization: {
    type: token('type'),
  },
  PractitionerRole: {
    role: token('code'),
    specialty: token('specialty'),
  },
  Procedure: {
    status: token('status'),
    code: token('code'),
    category: token('category'),
    date: date('performedDateTime', 'performedPeriod'),
  },
  QuestionnaireResponse: {
    status: token('status'),
    authored: date('authored'),
  },
  RiskAssessment: {
    date: date('occurrenceDateTime', 'occurrencePeriod'),
  },
  ServiceRequest: {
    status: token('status'),
    code: token('code'),
    category: token('category'),
    intent: token('intent'),
    authored: date('authoredOn'),
    occurrence: date('occurrenceDateTime', 'occurrencePeriod'),
  },
  Specimen: {
    status: token('status'),
    type: token('type'),
    collected: date(
      'collection.collectedDateTime',
      'collection.collectedPeriod',
    ),
  },
  Substance: {
    code: token('code'),
  },
  SupplyDelivery: {
    status: token('status'),
  },
  SupplyRequest: {
    status: token('status'),
    date: date('authoredOn'),
  },
  Task: {
    status: token('status'),
    code: token('code'),
    intent: token('intent'),
    'authored-on': date('authoredOn'),
  },
  VisionPrescription: {
    status: token('status'),
    datewritten: date('dateWritten'),
  },
};
