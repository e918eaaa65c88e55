/** Elements that refer to other resources, by the name of the search parameter that `_include` uses. */
const COMMON: Readonly<Record<string, readonly string[]>> = {
  patient: ['patient', 'subject'],
  subject: ['subject', 'patient'],
  encounter: ['encounter', 'context'],
};

const MEDICATION = { medication: ['medicationReference'] } as const;
const PERFORMER_ACTOR = { performer: ['performer.actor'] } as const;

const BY_TYPE: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  AllergyIntolerance: { recorder: ['recorder'], asserter: ['asserter'] },
  CarePlan: { condition: ['addresses'], 'care-team': ['careTeam'], goal: ['goal'] },
  CareTeam: { participant: ['participant.member'] },
  Claim: { provider: ['provider'], insurer: ['insurer'] },
  Condition: { asserter: ['asserter'] },
  Coverage: { patient: ['beneficiary'], beneficiary: ['beneficiary'], payor: ['payor'] },
  DiagnosticReport: { performer: ['performer'], result: ['result'], specimen: ['specimen'] },
  DocumentReference: { author: ['author'], custodian: ['custodian'], encounter: ['context.encounter'] },
  Encounter: {
    participant: ['participant.individual'],
    practitioner: ['participant.individual'],
    location: ['location.location'],
    'service-provider': ['serviceProvider'],
  },
  ExplanationOfBenefit: { provider: ['provider'], coverage: ['insurance.coverage'], claim: ['claim'] },
  Immunization: { ...PERFORMER_ACTOR, location: ['location'], manufacturer: ['manufacturer'] },
  MedicationAdministration: { ...MEDICATION, ...PERFORMER_ACTOR },
  MedicationDispense: { ...MEDICATION, ...PERFORMER_ACTOR, prescription: ['authorizingPrescription'] },
  MedicationRequest: { ...MEDICATION, requester: ['requester'] },
  MedicationStatement: { ...MEDICATION, source: ['informationSource'] },
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
  Procedure: { ...PERFORMER_ACTOR, location: ['location'] },
  Provenance: { target: ['target'], agent: ['agent.who'] },
  ServiceRequest: { requester: ['requester'], performer: ['performer'], specimen: ['specimen'] },
};

/** The values of `_include` for a type, without its name. */
export const includesOf = (type: string): string[] => Object.keys({ ...COMMON, ...BY_TYPE[type] });

/** The elements that an `_include` follows; undefined when the type has no such parameter. */
export function includePaths(type: string, parameter: string): readonly string[] | undefined {
  const known: Readonly<Record<string, readonly string[]>> = { ...COMMON, ...BY_TYPE[type] };
  return Object.hasOwn(known, parameter) ? known[parameter] : undefined;
}
