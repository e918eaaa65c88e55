import {
  type IheErrorMeaning,
  meaningOfIheError,
  weightiestMeaning,
} from '../errors.ts';
import { groupedBy } from '../grouped-by.ts';
import {
  hl7CodeOf,
  hl7RootOf,
  type InstanceId,
  type PersonFacts,
  readInstanceId,
  readInstanceIds,
  readTimeOf,
} from '../hl7v3.ts';
import { comparableId } from '../identifiers.ts';
import { messageElement } from '../message-element.ts';
import { HL7V3 } from '../namespaces.ts';
import {
  attributeOf,
  childrenNamed,
  descendantsNamed,
  firstNamed,
  isNamed,
  type XmlElement,
  xmlText,
} from '../xml/xml-element.ts';
import {
  DISCOVERY_PROBLEM_SYSTEM,
  WANTED_ATTRIBUTES_SYSTEM,
} from './discovery-messages.ts';
import {
  communityOf,
  readAddresses,
  readPersonNames,
} from './read-patient-discovery.ts';

/** A person whom a community says it knows. */
export interface DiscoveredPatient {
  /** The id for ITI-38, `extension^^^&root&ISO`; undefined if none was given. */
  patientId: InstanceId | undefined;

  /** Further ids that the community gave the patient. */
  furtherIds: InstanceId[];

  /**
   * The community that holds the patient, as written. It may be another than
   * the gateway asked. Undefined if the answer does not say.
   */
  homeCommunity: string | undefined;

  /** Whether the community also tells where else data of the patient are. */
  locatesData: boolean;

  person: PersonFacts;

  /** How sure the gateway is, in percent. No ground for trusting a match. */
  confidence: number | undefined;
}

/** What a gateway may want to know before it answers. */
export type WantedAttribute =
  | 'address'
  | 'telecom'
  | 'gender'
  | 'birth-place-name'
  | 'birth-place-address'
  | 'mothers-maiden-name'
  | 'ssn';

/** The codes of attributes wanted, with those that IHE does not define. */
const WANTED_ATTRIBUTES = {
  PatientAddressRequested: 'address',
  // Seen in the field, misspelt.
  PatientAdressRequested: 'address',
  PatientTelecomRequested: 'telecom',
  LivingSubjectAdministrativeGenderRequested: 'gender',
  LivingSubjectBirthPlaceNameRequested: 'birth-place-name',
  LivingSubjectBirthPlaceAddressRequested: 'birth-place-address',
  MothersMaidenNameRequested: 'mothers-maiden-name',
  SSNRequested: 'ssn',
} as const satisfies Record<string, WantedAttribute>;

export interface AttributeRequest {
  /** As written. */
  code: string;

  /** Undefined for a code that is not known. */
  attribute: WantedAttribute | undefined;
}

/** A reason for which a gateway could not answer. */
export interface DiscoveryProblem {
  /** As written: ResponderBusy, AnswerNotAvailable, InternalError, … */
  code: string;

  meaning: IheErrorMeaning;
}

/** What was odd about an answer that could be read nevertheless. */
export type DiscoveryRemark =
  /** A match without an id cannot be asked for documents. */
  | 'match-without-id'
  /** A match that does not name its community. */
  | 'match-without-community'
  /** `AE` or no acknowledgement beside matches, or `NF` beside matches. */
  | 'matches-under-an-error'
  /** `OK`, and nothing in it. */
  | 'nothing-under-ok'
  /** The message is none of XCPD's. */
  | 'unknown-message';

/** What an answer says, whatever it comes to. */
export interface DiscoveryFacts {
  /** The acknowledgement's type, as written: AA, AE, AR; CA for deferred. */
  acknowledgement: string | undefined;

  /** The query's result, as written: OK, NF, QE, AE. */
  queryResponse: string | undefined;

  /** By this a deferred answer is told, beside RelatesTo. */
  queryId: InstanceId | undefined;

  /** The id of the message that this answers. */
  targetMessageId: InstanceId | undefined;

  /** The home community of who answered, as written. */
  senderCommunity: string | undefined;

  /** Each person in the answer, in its order; empty unless `found`. */
  patients: DiscoveredPatient[];

  wanted: AttributeRequest[];
  problems: DiscoveryProblem[];
  remarks: DiscoveryRemark[];
}

/**
 * What an answer of ITI-55 comes to. `nobody` is only what says so in every
 * part: an error is never taken for it.
 */
export type PatientDiscoveryResponse = DiscoveryFacts &
  (
    | { outcome: 'found' }
    | { outcome: 'nobody' }
    | { outcome: 'more-attributes-wanted' }
    /** Deferred: the answer will come to `respondTo`. */
    | { outcome: 'acknowledged' }
    | { outcome: 'failed'; meaning: IheErrorMeaning }
  );

/**
 * Reads ITI-55's answer, PRPA_IN201306UV02, or the acknowledgement of a deferred
 * question, MCCI_IN000002UV01.
 *
 * @param payload the element in the SOAP body. Another one has failed.
 */
export function readPatientDiscoveryResponse(
  payload: XmlElement,
): PatientDiscoveryResponse {
  const body = messageElement(
    payload,
    (element) =>
      isNamed(element, HL7V3, 'PRPA_IN201306UV02') ||
      isNamed(element, HL7V3, 'MCCI_IN000002UV01'),
  );
  const facts = readFacts(body);

  if (isNamed(body, HL7V3, 'MCCI_IN000002UV01')) {
    return concludeAcknowledgement(facts, body);
  }
  if (!isNamed(body, HL7V3, 'PRPA_IN201306UV02')) {
    facts.remarks.push('unknown-message');

    return { ...facts, outcome: 'failed', meaning: 'failed' };
  }

  return concludeAnswer(facts, body);
}

/** The patients of an answer by the community that holds them, in its order. */
export function patientsByCommunity(
  patients: readonly DiscoveredPatient[],
): Map<string, DiscoveredPatient[]> {
  return groupedBy(patients, ({ homeCommunity }) =>
    comparableId(homeCommunity ?? ''),
  );
}

function concludeAcknowledgement(
  facts: DiscoveryFacts,
  body: XmlElement,
): PatientDiscoveryResponse {
  const isAccepted =
    facts.acknowledgement === 'CA' || facts.acknowledgement === 'AA';

  return isAccepted
    ? { ...facts, outcome: 'acknowledged' }
    : { ...facts, outcome: 'failed', meaning: meaningOfFailure(facts, body) };
}

function concludeAnswer(
  facts: DiscoveryFacts,
  body: XmlElement,
): PatientDiscoveryResponse {
  const { acknowledgement, queryResponse, patients, problems, wanted } = facts;
  const isRefused = acknowledgement !== undefined && acknowledgement !== 'AA';
  const isOk = acknowledgement === 'AA' && queryResponse === 'OK';
  const isFailed = isRefused || problems.length > 0 || queryResponse === 'AE';

  if (patients.length > 0 && !isOk)
    facts.remarks.push('matches-under-an-error');

  if (!isFailed && patients.length > 0 && queryResponse !== 'QE') {
    return { ...facts, outcome: 'found' };
  }
  if (!isFailed && wanted.length > 0) {
    return { ...facts, outcome: 'more-attributes-wanted' };
  }
  if (!isFailed && acknowledgement === 'AA' && queryResponse === 'NF') {
    return { ...facts, outcome: 'nobody' };
  }
  if (isOk && !isFailed) facts.remarks.push('nothing-under-ok');

  return {
    ...facts,
    outcome: 'failed',
    meaning: meaningOfFailure(facts, body),
  };
}

function readFacts(body: XmlElement): DiscoveryFacts {
  const process = firstNamed(body, HL7V3, 'controlActProcess');
  const acknowledgement = firstNamed(body, HL7V3, 'acknowledgement');
  const remarks: DiscoveryRemark[] = [];
  const patients = readPatients(process, remarks);

  return {
    acknowledgement: hl7CodeOf(acknowledgement, 'typeCode'),
    queryResponse: hl7CodeOf(process, 'queryAck', 'queryResponseCode'),
    queryId: readInstanceId(firstNamed(process, HL7V3, 'queryAck', 'queryId')),
    targetMessageId: readInstanceId(
      firstNamed(acknowledgement, HL7V3, 'targetMessage', 'id'),
    ),
    senderCommunity: communityOf(body, 'sender'),
    patients,
    wanted: readWantedAttributes(body),
    problems: readProblems(body),
    remarks,
  };
}

/**
 * The issues of an answer. They belong into `reasonOf`; some gateways put them
 * directly into `controlActProcess`, or under its empty `subject`.
 */
function issuesOf(body: XmlElement): XmlElement[] {
  return descendantsNamed(body, HL7V3, 'detectedIssueEvent');
}

function readWantedAttributes(body: XmlElement): AttributeRequest[] {
  return issuesOf(body)
    .flatMap((issue) => [
      ...childrenNamed(issue, HL7V3, 'triggerFor').map((trigger) =>
        hl7CodeOf(trigger, 'actOrderRequired', 'code'),
      ),
      issueCode(issue, WANTED_ATTRIBUTES_SYSTEM),
    ])
    .filter((code) => code !== undefined)
    .map((code) => ({ code, attribute: wantedAttributeOf(code) }));
}

function wantedAttributeOf(code: string): WantedAttribute | undefined {
  return Object.hasOwn(WANTED_ATTRIBUTES, code)
    ? WANTED_ATTRIBUTES[code as keyof typeof WANTED_ATTRIBUTES]
    : undefined;
}

function readProblems(body: XmlElement): DiscoveryProblem[] {
  return issuesOf(body)
    .flatMap((issue) => [
      ...childrenNamed(issue, HL7V3, 'mitigatedBy').map((mitigation) =>
        hl7CodeOf(mitigation, 'detectedIssueManagement', 'code'),
      ),
      issueCode(issue, DISCOVERY_PROBLEM_SYSTEM),
    ])
    .filter((code) => code !== undefined)
    .map((code) => ({ code, meaning: meaningOfIheError(code) }));
}

/** The issue's own code, where some put what belongs below it. */
function issueCode(issue: XmlElement, system: string): string | undefined {
  const code = firstNamed(issue, HL7V3, 'code');
  const isOfSystem = attributeOf(code, 'codeSystem') === system;

  return isOfSystem ? attributeOf(code, 'code') : undefined;
}

/** Codes of HL7's AcknowledgementDetailCode for a message that is malformed. */
const SYNTAX_CODES = /^(?:SYN|NS|RTE|RTU|RTW)/;

/** What validators say when they refuse a message. */
const VALIDATION =
  /cvc-|SAXParse|schematron|(?:validation|validator|schema) (?:error|fail)|invalid content/i;

/**
 * What a failure means: what its codes say, unless the acknowledgement's detail
 * shows that a validator refused our message.
 */
function meaningOfFailure(
  facts: DiscoveryFacts,
  body: XmlElement,
): IheErrorMeaning {
  const details = childrenNamed(
    firstNamed(body, HL7V3, 'acknowledgement'),
    HL7V3,
    'acknowledgementDetail',
  );
  const isOurs = details.some(
    (detail) =>
      SYNTAX_CODES.test(hl7CodeOf(detail, 'code') ?? '') ||
      VALIDATION.test(xmlText(firstNamed(detail, HL7V3, 'text')) ?? ''),
  );

  return isOurs ? 'our-fault' : (weightiestMeaning(facts.problems) ?? 'failed');
}

function readPatients(
  process: XmlElement | undefined,
  remarks: DiscoveryRemark[],
): DiscoveredPatient[] {
  const patients = childrenNamed(process, HL7V3, 'subject')
    .flatMap((subject) => childrenNamed(subject, HL7V3, 'registrationEvent'))
    .flatMap(readRegistration);

  if (patients.some(({ patientId }) => patientId === undefined)) {
    remarks.push('match-without-id');
  }
  if (patients.some(({ homeCommunity }) => homeCommunity === undefined)) {
    remarks.push('match-without-community');
  }

  return patients;
}

function readRegistration(event: XmlElement): DiscoveredPatient[] {
  const custodian = firstNamed(event, HL7V3, 'custodian', 'assignedEntity');
  const homeCommunity = hl7RootOf(custodian, 'id');
  const locatesData =
    hl7CodeOf(custodian, 'code') === 'SupportsHealthDataLocator';

  return childrenNamed(event, HL7V3, 'subject1')
    .flatMap((subject) => childrenNamed(subject, HL7V3, 'patient'))
    .map((patient) => {
      const [patientId, ...furtherIds] = readInstanceIds(
        childrenNamed(patient, HL7V3, 'id'),
      );

      return {
        patientId,
        furtherIds,
        homeCommunity,
        locatesData,
        person: readPerson(patient),
        confidence: readConfidence(patient),
      };
    });
}

function readPerson(patient: XmlElement): PersonFacts {
  const person = firstNamed(patient, HL7V3, 'patientPerson');

  // HL7 lets a role have addresses and telecoms of its own.
  const both = (name: string): XmlElement[] =>
    [person, patient].flatMap((element) => childrenNamed(element, HL7V3, name));

  return {
    names: readPersonNames(childrenNamed(person, HL7V3, 'name')),
    gender: hl7CodeOf(person, 'administrativeGenderCode'),
    birthTime: readTimeOf(firstNamed(person, HL7V3, 'birthTime')),
    addresses: readAddresses(both('addr')),
    telecoms: both('telecom')
      .map((telecom) => attributeOf(telecom, 'value'))
      .filter((telecom) => telecom !== undefined),
    otherIds: readInstanceIds(
      childrenNamed(person, HL7V3, 'asOtherIDs').flatMap((other) =>
        childrenNamed(other, HL7V3, 'id'),
      ),
    ),
  };
}

function readConfidence(patient: XmlElement): number | undefined {
  const observation = firstNamed(
    patient,
    HL7V3,
    'subjectOf1',
    'queryMatchObservation',
  );
  const value = attributeOf(firstNamed(observation, HL7V3, 'value'), 'value');
  const percent = Number(value);

  return value === undefined || Number.isNaN(percent) ? undefined : percent;
}
