import type {
  ElementPath,
  ReceivedResource,
  ResourceType,
} from './elements.ts';
import { isJson, type Json, objectsOf, textOf } from './json.ts';

interface DateRuleOf<T extends ResourceType> {
  /** In order of preference: a date, an instant or a period. */
  at: readonly ElementPath<T>[];
  /** Elements that hold the end, if it is not part of a period. */
  end?: readonly ElementPath<T>[];
  /** Whether a resource without an end is ongoing; it is not, if absent. */
  ongoing?: (resource: ReceivedResource<T>) => boolean;
}

const inStatus =
  (...statuses: readonly string[]) =>
  ({ lifecycleStatus, status }: Json): boolean =>
    statuses.includes(textOf(lifecycleStatus ?? status) ?? '');

const OVER = ['inactive', 'remission', 'resolved'];

function isNotOver({ clinicalStatus, abatementString }: Json): boolean {
  const codings = objectsOf(
    isJson(clinicalStatus) ? clinicalStatus.coding : undefined,
  );
  const isOver = codings.some(({ code }) => OVER.includes(textOf(code) ?? ''));
  return !isOver && abatementString === undefined;
}

const isTaken = inStatus('active', 'intended');

/**
 * By which elements a resource of a type is dated. Explained in docs/merge.md.
 * Types not listed here have no clinical date.
 */
export const DATE_RULES: {
  readonly [T in ResourceType]?: DateRuleOf<T>;
} = {
  AdverseEvent: {
    at: ['date', 'detected', 'recordedDate'],
  },
  AllergyIntolerance: {
    at: ['onsetDateTime', 'onsetPeriod', 'recordedDate', 'lastOccurrence'],
    ongoing: isNotOver,
  },
  Appointment: {
    at: ['start', 'created'],
    end: ['end'],
  },
  CarePlan: {
    at: ['period', 'created'],
    ongoing: inStatus('active', 'on-hold', 'draft'),
  },
  CareTeam: {
    at: ['period'],
    ongoing: inStatus('active', 'proposed', 'suspended'),
  },
  Claim: {
    at: ['billablePeriod', 'created'],
  },
  ClinicalImpression: {
    at: ['effectiveDateTime', 'effectivePeriod', 'date'],
  },
  Communication: {
    at: ['sent', 'received'],
  },
  CommunicationRequest: {
    at: ['occurrenceDateTime', 'occurrencePeriod', 'authoredOn'],
  },
  Composition: {
    at: ['date'],
  },
  Condition: {
    at: ['onsetDateTime', 'onsetPeriod', 'recordedDate'],
    end: ['abatementDateTime', 'abatementPeriod.end'],
    ongoing: isNotOver,
  },
  Consent: {
    at: ['dateTime'],
    ongoing: inStatus('active'),
  },
  Coverage: {
    at: ['period'],
    ongoing: inStatus('active'),
  },
  DetectedIssue: {
    at: ['identifiedDateTime', 'identifiedPeriod'],
  },
  DeviceRequest: {
    at: ['occurrenceDateTime', 'occurrencePeriod', 'authoredOn'],
  },
  DeviceUseStatement: {
    at: ['timingPeriod', 'timingDateTime', 'recordedOn'],
    ongoing: inStatus('active'),
  },
  DiagnosticReport: {
    at: ['effectiveDateTime', 'effectivePeriod', 'issued'],
  },
  DocumentReference: {
    at: ['context.period', 'date'],
  },
  Encounter: {
    at: ['period'],
    ongoing: inStatus('in-progress', 'arrived', 'triaged', 'onleave'),
  },
  EpisodeOfCare: {
    at: ['period'],
    ongoing: inStatus('active', 'onhold', 'waitlist', 'planned'),
  },
  ExplanationOfBenefit: {
    at: ['billablePeriod', 'created'],
  },
  FamilyMemberHistory: {
    at: ['date'],
  },
  Flag: {
    at: ['period'],
    ongoing: inStatus('active'),
  },
  Goal: {
    at: ['startDate', 'statusDate'],
    ongoing: inStatus('proposed', 'planned', 'accepted', 'active', 'on-hold'),
  },
  ImagingStudy: {
    at: ['started'],
  },
  Immunization: {
    at: ['occurrenceDateTime', 'recorded'],
  },
  ImmunizationEvaluation: {
    at: ['date'],
  },
  ImmunizationRecommendation: {
    at: ['date'],
  },
  List: {
    at: ['date'],
  },
  Media: {
    at: ['createdDateTime', 'createdPeriod', 'issued'],
  },
  MedicationAdministration: {
    at: ['effectiveDateTime', 'effectivePeriod'],
  },
  MedicationDispense: {
    at: ['whenHandedOver', 'whenPrepared'],
  },
  MedicationRequest: {
    at: [
      'authoredOn',
      'dispenseRequest.validityPeriod',
      'dosageInstruction.timing',
    ],
  },
  MedicationStatement: {
    at: ['effectiveDateTime', 'effectivePeriod', 'dateAsserted'],
    // A statement about one moment says nothing about later.
    ongoing: (resource) =>
      isJson(resource.effectivePeriod) && isTaken(resource),
  },
  NutritionOrder: {
    at: ['dateTime'],
  },
  Observation: {
    at: ['effectiveDateTime', 'effectivePeriod', 'effectiveInstant', 'issued'],
  },
  Procedure: {
    at: ['performedDateTime', 'performedPeriod'],
  },
  QuestionnaireResponse: {
    at: ['authored'],
  },
  RelatedPerson: {
    at: ['period'],
    ongoing: () => true,
  },
  RiskAssessment: {
    at: ['occurrenceDateTime', 'occurrencePeriod'],
  },
  ServiceRequest: {
    at: ['occurrenceDateTime', 'occurrencePeriod', 'authoredOn'],
  },
  Specimen: {
    at: [
      'collection.collectedDateTime',
      'collection.collectedPeriod',
      'receivedTime',
    ],
  },
  SupplyDelivery: {
    at: ['occurrenceDateTime', 'occurrencePeriod'],
  },
  SupplyRequest: {
    at: ['occurrenceDateTime', 'occurrencePeriod', 'authoredOn'],
  },
  Task: {
    at: ['executionPeriod', 'authoredOn'],
  },
  VisionPrescription: {
    at: ['dateWritten', 'created'],
  },
};
