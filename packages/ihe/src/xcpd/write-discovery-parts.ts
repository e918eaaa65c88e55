import {
  type InstanceId,
  instanceIdAttributes,
  writeAddressParts,
  writeInstanceId,
  writeNameParts,
} from '../hl7v3.ts';
import { writeHl7Time } from '../times.ts';
import { XmlFragment, xml } from '../xml/write-xml.ts';
import type {
  DiscoveryCriteria,
  GatewayIdentity,
} from './discovery-messages.ts';

/** What stands at the head of each message of HL7 v3. */
export interface MessageHead {
  messageId: InstanceId;
  sentAt: Date;
  sender: GatewayIdentity;
  receiver: GatewayIdentity;

  /** P for production, T for tests. */
  processing: 'P' | 'T';
}

/** HL7's element from `id` to `acceptAckCode`. */
export function writeMessageHead(
  head: MessageHead,
  interaction: string,
  acceptAck: 'AL' | 'NE',
): XmlFragment {
  return xml`
    ${writeInstanceId(head.messageId)}
    <creationTime value="${writeHl7Time(head.sentAt)}"/>
    <interactionId root="2.16.840.1.113883.1.6" extension="${interaction}"/>
    <processingCode code="${head.processing}"/>
    <processingModeCode code="T"/>
    <acceptAckCode code="${acceptAck}"/>
  `;
}

export function writeReceiver(gateway: GatewayIdentity): XmlFragment {
  return xml`<receiver typeCode="RCV">${writeDevice(gateway)}</receiver>`;
}

export function writeSender(gateway: GatewayIdentity): XmlFragment {
  return xml`<sender typeCode="SND">${writeDevice(gateway)}</sender>`;
}

function writeDevice(gateway: GatewayIdentity): XmlFragment {
  const agent =
    gateway.homeCommunity === undefined
      ? undefined
      : xml`
          <asAgent classCode="AGNT">
            <representedOrganization classCode="ORG" determinerCode="INSTANCE">
              <id root="${gateway.homeCommunity}"/>
            </representedOrganization>
          </asAgent>
        `;

  return xml`
    <device classCode="DEV" determinerCode="INSTANCE">
      <id root="${gateway.deviceId}"/>
      ${agent}
    </device>
  `;
}

/** What a question asks for, and how its answer may come. */
export interface DiscoveryQuery {
  queryId: InstanceId;

  /** `I` at once, `D` deferred. */
  priority: 'I' | 'D';

  criteria: DiscoveryCriteria;
}

/**
 * `queryByParameter`, which a question holds and its answer repeats. The
 * parameters stand in the order of the schema: responders that validate refuse
 * every other.
 */
export function writeQueryByParameter(query: DiscoveryQuery): XmlFragment {
  return xml`
    <queryByParameter>
      <queryId${instanceIdAttributes(query.queryId)}/>
      <statusCode code="new"/>
      <responseModalityCode code="R"/>
      <responsePriorityCode code="${query.priority}"/>
      <parameterList>${writeParameters(query.criteria)}</parameterList>
    </queryByParameter>
  `;
}

function writeParameters(criteria: DiscoveryCriteria): XmlFragment {
  return xml`
    ${parameter(
      'livingSubjectAdministrativeGender',
      criteria.genders.map((code) => xml`<value code="${code}"/>`),
      'LivingSubject.administrativeGender',
    )}
    ${parameter(
      'livingSubjectBirthPlaceAddress',
      criteria.birthPlaceAddresses.map(
        (address) => xml`<value>${writeAddressParts(address)}</value>`,
      ),
      'LivingSubject.BirthPlace.Addr',
    )}
    ${parameter(
      'livingSubjectBirthPlaceName',
      criteria.birthPlaceNames.map((name) => xml`<value>${name}</value>`),
      'LivingSubject.BirthPlace.Place.Name',
    )}
    ${parameter(
      'livingSubjectBirthTime',
      criteria.birthTimes.map((time) => xml`<value value="${time}"/>`),
      'LivingSubject.birthTime',
    )}
    ${criteria.ids.map((id) =>
      parameter('livingSubjectId', [idValue(id)], 'LivingSubject.id'),
    )}
    ${criteria.names.map((name) =>
      parameter(
        'livingSubjectName',
        [xml`<value>${writeNameParts(name)}</value>`],
        'LivingSubject.name',
      ),
    )}
    ${parameter(
      'mothersMaidenName',
      criteria.mothersMaidenNames.map(
        (name) => xml`<value>${writeNameParts(name)}</value>`,
      ),
      'Person.MothersMaidenName',
    )}
    ${parameter(
      'patientAddress',
      criteria.addresses.map(
        (address) => xml`<value>${writeAddressParts(address)}</value>`,
      ),
      'Patient.addr',
    )}
    ${parameter(
      'patientTelecom',
      criteria.telecoms.map((telecom) => xml`<value value="${telecom}"/>`),
      'Patient.telecom',
    )}
    ${criteria.principalCareProviderIds.map((id) =>
      parameter(
        'principalCareProviderId',
        [idValue(id)],
        'AssignedProvider.id',
      ),
    )}
  `;
}

/** A parameter with its values; nothing if there are none. */
function parameter(
  name: string,
  values: readonly XmlFragment[],
  semantics: string,
): XmlFragment | undefined {
  if (values.length === 0) return undefined;

  const element = new XmlFragment(name);

  return xml`
    <${element}>
      ${values}
      <semanticsText>${semantics}</semanticsText>
    </${element}>
  `;
}

function idValue(id: InstanceId): XmlFragment {
  return xml`<value${instanceIdAttributes(id)}/>`;
}
