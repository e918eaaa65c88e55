import {
  type InstanceId,
  instanceIdAttributes,
  type PersonFacts,
  writeAddressParts,
  writeInstanceId,
  writeNameParts,
} from '../hl7v3.ts';
import { HL7V3, XSI } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import {
  DATA_LOCATOR_SYSTEM,
  DISCOVERY_PROBLEM_SYSTEM,
  WANTED_ATTRIBUTES_SYSTEM,
} from './discovery-messages.ts';
import type { PatientDiscoveryRequest } from './read-patient-discovery.ts';
import {
  type MessageHead,
  writeMessageHead,
  writeQueryByParameter,
  writeReceiver,
  writeSender,
} from './write-discovery-parts.ts';

/** A person whom a responding gateway gives out. */
export interface MatchedPatient {
  patientId: InstanceId;

  /** The community that holds the patient: an OID without `urn:oid:`. */
  homeCommunity: string;

  person: PersonFacts;

  /** How sure the match is, in percent. */
  confidence: number;
}

/** What a responding gateway has to say. */
export type DiscoveryVerdict =
  /** None means that nobody was found. */
  | { patients: readonly MatchedPatient[] }
  /** Codes of IHE: PatientAddressRequested, … */
  | { wantedAttributes: readonly string[] }
  /** A code of IHE: ResponderBusy, AnswerNotAvailable, InternalError. */
  | { problem: string };

/** An answer to a question, by the head of the answer's own message. */
export interface PatientDiscoveryReply extends MessageHead {
  request: PatientDiscoveryRequest;
  verdict: DiscoveryVerdict;
}

/**
 * Writes ITI-55's answer, PRPA_IN201306UV02. Its action is
 * `DISCOVERY_ACTIONS.answer`; sent later as a message of its own,
 * `deferredAnswer`.
 */
export function buildPatientDiscoveryResponse(
  reply: PatientDiscoveryReply,
): XmlFragment {
  const { request, verdict } = reply;
  const acknowledgement = 'problem' in verdict ? 'AE' : 'AA';
  const queryId = request.queryId ?? { root: '', extension: undefined };

  return xml`
    <PRPA_IN201306UV02 xmlns="${HL7V3}" xmlns:xsi="${XSI}" ITSVersion="XML_1.0">
      ${writeMessageHead(reply, 'PRPA_IN201306UV02', 'NE')}
      ${writeReceiver(reply.receiver)}
      ${writeSender(reply.sender)}
      ${writeAcknowledgement(acknowledgement, request)}
      <controlActProcess classCode="CACT" moodCode="EVN">
        <code code="PRPA_TE201306UV02" codeSystem="2.16.840.1.113883.1.6"/>
        ${'patients' in verdict ? verdict.patients.map(writeMatch) : undefined}
        ${writeIssue(verdict)}
        <queryAck>
          <queryId${instanceIdAttributes(queryId)}/>
          <statusCode code="${acknowledgement === 'AE' ? 'aborted' : 'deliveredResponse'}"/>
          <queryResponseCode code="${queryResponseOf(verdict)}"/>
        </queryAck>
        ${writeQueryByParameter({
          queryId,
          priority: request.priority === 'D' ? 'D' : 'I',
          criteria: request.criteria,
        })}
      </controlActProcess>
    </PRPA_IN201306UV02>
  `;
}

/**
 * Writes MCCI_IN000002UV01: a deferred question, or its answer, has arrived. Its
 * action is `DISCOVERY_ACTIONS.acknowledgement`.
 */
export function buildDiscoveryAcknowledgement(
  head: MessageHead,
  received: Pick<PatientDiscoveryRequest, 'messageId'>,
): XmlFragment {
  return xml`
    <MCCI_IN000002UV01 xmlns="${HL7V3}" ITSVersion="XML_1.0">
      ${writeMessageHead(head, 'MCCI_IN000002UV01', 'NE')}
      ${writeReceiver(head.receiver)}
      ${writeSender(head.sender)}
      ${writeAcknowledgement('CA', received)}
    </MCCI_IN000002UV01>
  `;
}

function writeAcknowledgement(
  type: 'AA' | 'AE' | 'CA',
  { messageId }: Pick<PatientDiscoveryRequest, 'messageId'>,
): XmlFragment {
  return xml`
    <acknowledgement>
      <typeCode code="${type}"/>
      <targetMessage>
        ${messageId === undefined ? xml`<id nullFlavor="NI"/>` : writeInstanceId(messageId)}
      </targetMessage>
    </acknowledgement>
  `;
}

function queryResponseOf(verdict: DiscoveryVerdict): 'OK' | 'NF' | 'AE' {
  if ('problem' in verdict) return 'AE';
  if ('wantedAttributes' in verdict) return 'OK';

  return verdict.patients.length === 0 ? 'NF' : 'OK';
}

function writeIssue(verdict: DiscoveryVerdict): XmlFragment | undefined {
  if ('patients' in verdict) return undefined;

  const detail =
    'problem' in verdict
      ? xml`
          <mitigatedBy typeCode="MITGT">
            <detectedIssueManagement classCode="ACT" moodCode="EVN">
              <code code="${verdict.problem}" codeSystem="${DISCOVERY_PROBLEM_SYSTEM}"/>
            </detectedIssueManagement>
          </mitigatedBy>
        `
      : verdict.wantedAttributes.map(
          (attribute) => xml`
            <triggerFor typeCode="TRIG">
              <actOrderRequired classCode="ACT" moodCode="RQO">
                <code code="${attribute}" codeSystem="${WANTED_ATTRIBUTES_SYSTEM}"/>
              </actOrderRequired>
            </triggerFor>
          `,
        );

  return xml`
    <reasonOf typeCode="RSON">
      <detectedIssueEvent classCode="ALRT" moodCode="EVN">
        <code code="ActAdministrativeDetectedIssueCode" codeSystem="2.16.840.1.113883.5.4"/>
        ${detail}
      </detectedIssueEvent>
    </reasonOf>
  `;
}

function writeMatch(match: MatchedPatient): XmlFragment {
  return xml`
    <subject typeCode="SUBJ" contextConductionInd="false">
      <registrationEvent classCode="REG" moodCode="EVN">
        <id nullFlavor="NA"/>
        <statusCode code="active"/>
        <subject1 typeCode="SBJ">
          <patient classCode="PAT">
            ${writeInstanceId(match.patientId)}
            <statusCode code="active"/>
            ${writePerson(match.person)}
            <providerOrganization classCode="ORG" determinerCode="INSTANCE">
              <id root="${match.homeCommunity}"/>
              <contactParty classCode="CON" xsi:nil="true"/>
            </providerOrganization>
            <subjectOf1>
              <queryMatchObservation classCode="COND" moodCode="EVN">
                <code code="IHE_PDQ"/>
                <value xsi:type="INT" value="${match.confidence}"/>
              </queryMatchObservation>
            </subjectOf1>
          </patient>
        </subject1>
        <custodian typeCode="CST">
          <assignedEntity classCode="ASSIGNED">
            <id root="${match.homeCommunity}"/>
            <code code="NotHealthDataLocator" codeSystem="${DATA_LOCATOR_SYSTEM}"/>
          </assignedEntity>
        </custodian>
      </registrationEvent>
    </subject>
  `;
}

function writePerson(person: PersonFacts): XmlFragment {
  return xml`
    <patientPerson classCode="PSN" determinerCode="INSTANCE">
      ${person.names.map((name) => xml`<name>${writeNameParts(name)}</name>`)}
      ${person.telecoms.map((telecom) => xml`<telecom value="${telecom}"/>`)}
      ${person.gender && xml`<administrativeGenderCode code="${person.gender}"/>`}
      ${person.birthTime && xml`<birthTime value="${person.birthTime.written}"/>`}
      ${person.addresses.map(
        (address) => xml`<addr>${writeAddressParts(address)}</addr>`,
      )}
      ${person.otherIds.map(
        (id) => xml`
          <asOtherIDs classCode="PAT">
            ${writeInstanceId(id)}
            <scopingOrganization classCode="ORG" determinerCode="INSTANCE">
              <id root="${id.root}"/>
            </scopingOrganization>
          </asOtherIDs>
        `,
      )}
    </patientPerson>
  `;
}
