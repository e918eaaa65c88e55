import type {
  ElementOf,
  ElementPath,
  ResourceType,
} from '#record-summary/fhir';

/**
 * Elements that refer to other resources, by the name of the search parameter
 * that `_include` uses; of all types, if they have them.
 */
export const COMMON_REFERENCES: Readonly<
  Record<string, readonly ElementOf<ResourceType>[]>
> = {
  patient: ['patient', 'subject'],
  subject: ['subject', 'patient'],
  encounter: ['encounter', 'context'],
};

export const REFERENCES_OF_TYPES: {
  readonly [T in ResourceType]?: Readonly<
    Record<string, readonly ElementPath<T>[]>
  >;
} = {
  AllergyIntolerance: {
    recorder: ['recorder'],
    asserter: ['asserter'],
  },
  CarePlan: {
    condition: ['addresses'],
    'care-team': ['careTeam'],
    goal: ['goal'],
  },
  CareTeam: {
    participant: ['participant.member'],
  },
  Claim: {
    provider: ['provider'],
    insurer: ['insurer'],
  },
  Condition: {
    asserter: ['asserter'],
  },
  Coverage: {
    patient: ['beneficiary'],
    beneficiary: ['beneficiary'],
    payor: ['payor'],
  },
  DiagnosticReport: {
    performer: ['performer'],
    result: ['result'],
    specimen: ['specimen'],
  },
  DocumentReference: {
    author: ['author'],
    custodian: ['custodian'],
    encounter: ['context.encounter'],
  },
  Encounter: {
    participant: ['participant.individual'],
    practitioner: ['participant.individual'],
    location: ['location.location'],
    'service-provider': ['serviceProvider'],
  },
  ExplanationOfBenefit: {
    provider: ['provider'],
    coverage: ['insurance.coverage'],
    claim: ['claim'],
  },
  Immunization: {
    performer: ['performer.actor'],
    location: ['location'],
    manufacturer: ['manufacturer'],
  },
  MedicationAdministration: {
    medication: ['medicationReference'],
    performer: ['performer.actor'],
  },
  MedicationDispense: {
    medication: ['medicationReference'],
    performer: ['performer.actor'],
    prescription: ['authorizingPrescription'],
  },
  MedicationRequest: {
    medication: ['medicationReference'],
    requester: ['requester'],
  },
  MedicationStatement: {
    medication: ['medicationReference'],
    source: ['informationSource'],
  },
  Observation: {
    performer: ['performer'],
    specimen: ['specimen'],
    'has-member': ['hasMember'],
    'derived-from': ['derivedFrom'],
  },
  PractitionerRole: {
    practitioner: ['practitioner'],
    organization: ['organization'],
    location: ['location'],
  },
  Procedure: {
    performer: ['performer.actor'],
    location: ['location'],
  },
  Provenance: {
    target: ['target'],
    agent: ['agent.who'],
  },
  ServiceRequest: {
    requester: ['requester'],
    performer: ['performer'],
    specimen: ['specimen'],
  },
};
