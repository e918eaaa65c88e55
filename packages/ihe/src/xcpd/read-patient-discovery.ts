import {
  hl7CodeOf,
  hl7RootOf,
  type InstanceId,
  type PersonNameParts,
  type PostalAddress,
  readAddress,
  readInstanceId,
  readInstanceIds,
  readPersonName,
} from '../hl7v3.ts';
import { messageElement } from '../message-element.ts';
import { HL7V3 } from '../namespaces.ts';
import {
  attributeOf,
  childrenNamed,
  firstNamed,
  isNamed,
  type XmlElement,
  xmlText,
} from '../xml/xml-element.ts';
import type { DiscoveryCriteria } from './discovery-messages.ts';

/** What a question must have to be answered (3.55.4.1.2). */
export type DiscoveryRequirement = 'query-id' | 'birth-time' | 'name';

/** ITI-55's question, as a responding gateway reads it. */
export interface PatientDiscoveryRequest {
  messageId: InstanceId | undefined;
  queryId: InstanceId | undefined;

  /** The home community of who asks, as written. */
  senderCommunity: string | undefined;

  senderDevice: string | undefined;
  receiverCommunity: string | undefined;
  receiverDevice: string | undefined;

  /** `I` at once, `D` deferred, as written. */
  priority: string | undefined;

  /** Where a deferred answer is wanted, as written: perhaps no address. */
  respondTo: string | undefined;

  /** The authority of the sender's own id of the patient. */
  ownIdAuthority: string | undefined;

  criteria: DiscoveryCriteria;

  /** What is required and not there: such a question finds nobody. */
  missing: DiscoveryRequirement[];
}

/**
 * Reads PRPA_IN201305UV02.
 *
 * @param payload the element in the SOAP body
 */
export function readPatientDiscovery(
  payload: XmlElement,
): PatientDiscoveryRequest {
  const message = messageElement(payload, (element) =>
    isNamed(element, HL7V3, 'PRPA_IN201305UV02'),
  );
  const process = firstNamed(message, HL7V3, 'controlActProcess');
  const query = firstNamed(process, HL7V3, 'queryByParameter');
  const queryId = readInstanceId(firstNamed(query, HL7V3, 'queryId'));
  const criteria = readCriteria(firstNamed(query, HL7V3, 'parameterList'));

  return {
    messageId: readInstanceId(firstNamed(message, HL7V3, 'id')),
    queryId,
    senderCommunity: communityOf(message, 'sender'),
    senderDevice: hl7RootOf(message, 'sender', 'device', 'id'),
    receiverCommunity: communityOf(message, 'receiver'),
    receiverDevice: hl7RootOf(message, 'receiver', 'device', 'id'),
    priority: hl7CodeOf(query, 'responsePriorityCode'),
    respondTo: attributeOf(
      firstNamed(message, HL7V3, 'respondTo', 'telecom'),
      'value',
    ),
    ownIdAuthority: hl7RootOf(
      process,
      'authorOrPerformer',
      'assignedDevice',
      'id',
    ),
    criteria,
    missing: missingRequirements(queryId, criteria),
  };
}

/**
 * Whether the answer is to be sent later, to `respondTo`: it is asked for, and
 * the address can be used.
 */
export function isDeferredDiscovery(request: PatientDiscoveryRequest): boolean {
  const { priority, respondTo } = request;
  const canReach = respondTo !== undefined && /^https?:\/\//i.test(respondTo);

  return priority === 'D' && canReach;
}

/** The home community in a message's `sender` or `receiver`, as written. */
export function communityOf(
  message: XmlElement,
  side: 'sender' | 'receiver',
): string | undefined {
  return hl7RootOf(
    message,
    side,
    'device',
    'asAgent',
    'representedOrganization',
    'id',
  );
}

function missingRequirements(
  queryId: InstanceId | undefined,
  criteria: DiscoveryCriteria,
): DiscoveryRequirement[] {
  const missing: DiscoveryRequirement[] = [];

  if (queryId === undefined) missing.push('query-id');
  if (criteria.birthTimes.length === 0) missing.push('birth-time');
  if (criteria.names.length === 0) missing.push('name');

  return missing;
}

function readCriteria(list: XmlElement | undefined): DiscoveryCriteria {
  const valuesOf = (parameter: string): XmlElement[] =>
    childrenNamed(list, HL7V3, parameter).flatMap((element) =>
      childrenNamed(element, HL7V3, 'value'),
    );

  return {
    genders: valuesOf('livingSubjectAdministrativeGender')
      .map((value) => attributeOf(value, 'code'))
      .filter((code) => code !== undefined),
    birthTimes: valuesOf('livingSubjectBirthTime')
      .map(birthTimeOfValue)
      .filter((time) => time !== undefined),
    birthPlaceAddresses: readAddresses(
      valuesOf('livingSubjectBirthPlaceAddress'),
    ),
    birthPlaceNames: valuesOf('livingSubjectBirthPlaceName')
      .map(xmlText)
      .filter((text) => text !== undefined),
    ids: readInstanceIds(valuesOf('livingSubjectId')),
    names: readPersonNames(valuesOf('livingSubjectName')),
    mothersMaidenNames: readPersonNames(valuesOf('mothersMaidenName')),
    addresses: readAddresses(valuesOf('patientAddress')),
    telecoms: valuesOf('patientTelecom')
      .map((value) => attributeOf(value, 'value'))
      .filter((telecom) => telecom !== undefined),
    principalCareProviderIds: readInstanceIds(
      valuesOf('principalCareProviderId'),
    ),
  };
}

/** A birth time as a value, or as the middle or begin of an interval. */
function birthTimeOfValue(value: XmlElement): string | undefined {
  return (
    attributeOf(value, 'value') ??
    attributeOf(firstNamed(value, HL7V3, 'center'), 'value') ??
    attributeOf(firstNamed(value, HL7V3, 'low'), 'value')
  );
}

export function readPersonNames(
  elements: readonly XmlElement[],
): PersonNameParts[] {
  return elements.map(readPersonName).filter((name) => name !== undefined);
}

export function readAddresses(
  elements: readonly XmlElement[],
): PostalAddress[] {
  return elements.map(readAddress).filter((address) => address !== undefined);
}
