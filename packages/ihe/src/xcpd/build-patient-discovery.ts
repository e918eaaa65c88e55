import type { InstanceId } from '../hl7v3.ts';
import { HL7V3, XSI } from '../namespaces.ts';
import { type XmlFragment, xml } from '../xml/write-xml.ts';
import type { DiscoveryCriteria } from './discovery-messages.ts';
import {
  type MessageHead,
  writeMessageHead,
  writeQueryByParameter,
  writeReceiver,
  writeSender,
} from './write-discovery-parts.ts';

/** A question for a patient, to one gateway. */
export interface PatientDiscoveryQuestion extends MessageHead {
  /** By this, and by RelatesTo, a deferred answer is told. */
  queryId: InstanceId;

  criteria: DiscoveryCriteria;

  /**
   * The authority of our own id of the patient. Set when `criteria.ids` has it,
   * so that the other side may ask us by it (3.55.4.1.2.4).
   */
  ownIdAuthority?: string | undefined;

  /** Set for a deferred answer: the address that it is sent to. */
  respondTo?: string | undefined;
}

/**
 * Writes ITI-55's question, PRPA_IN201305UV02, in the order of HL7's schema. Its
 * action is `DISCOVERY_ACTIONS.question`, or `deferredQuestion` with
 * `respondTo`.
 */
export function buildPatientDiscovery(
  question: PatientDiscoveryQuestion,
): XmlFragment {
  const { respondTo, ownIdAuthority } = question;

  const respondToElement =
    respondTo === undefined
      ? undefined
      : xml`
          <respondTo typeCode="RSP">
            <telecom value="${respondTo}"/>
            <entityRsp classCode="ENT" determinerCode="INSTANCE" xsi:nil="true"/>
          </respondTo>
        `;

  const author =
    ownIdAuthority === undefined
      ? undefined
      : xml`
          <authorOrPerformer typeCode="AUT">
            <assignedDevice classCode="ASSIGNED">
              <id root="${ownIdAuthority}"/>
            </assignedDevice>
          </authorOrPerformer>
        `;

  return xml`
    <PRPA_IN201305UV02 xmlns="${HL7V3}" xmlns:xsi="${XSI}" ITSVersion="XML_1.0">
      ${writeMessageHead(question, 'PRPA_IN201305UV02', 'AL')}
      ${writeReceiver(question.receiver)}
      ${respondToElement}
      ${writeSender(question.sender)}
      <controlActProcess classCode="CACT" moodCode="EVN">
        <code code="PRPA_TE201305UV02" codeSystem="2.16.840.1.113883.1.6"/>
        ${author}
        ${writeQueryByParameter({
          queryId: question.queryId,
          priority: respondTo === undefined ? 'I' : 'D',
          criteria: question.criteria,
        })}
      </controlActProcess>
    </PRPA_IN201305UV02>
  `;
}
