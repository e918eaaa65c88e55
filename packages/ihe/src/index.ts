/*
 * The language of the networks' gateways (README.md).
 */

export { IheError, type IheErrorCode } from './ihe-error.ts';
export {
  type AttachmentSink,
  type AttachmentStore,
  attachmentsInMemory,
  type MessageAttachment,
} from './soap/attachments.ts';
export {
  type Envelope,
  MESSAGE_LIMITS,
  type MessageBytes,
  type MessageLimits,
  type ReadEnvelopeOptions,
  readEnvelope,
} from './soap/read-envelope.ts';
export { SoapFault, type SoapFaultKind } from './soap/soap-fault.ts';
export {
  ANONYMOUS,
  type EnvelopeParts,
  FAULT_ACTION,
  newMessageId,
  writeEnvelope,
  writeFault,
} from './soap/write-envelope.ts';
export {
  mtomMessage,
  type OutgoingAttachment,
  type OutgoingMessage,
  plainMessage,
} from './soap/write-message.ts';
export type { XmlRemark } from './xml/decode-xml.ts';
export {
  type ReadXmlOptions,
  readXml,
  XML_LIMITS,
  type XmlLimits,
} from './xml/read-xml.ts';
export { escapeXml, XmlFragment, type XmlValue, xml } from './xml/write-xml.ts';
export {
  attributeOf,
  childrenNamed,
  descendantsNamed,
  firstNamed,
  isNamed,
  type XmlAttribute,
  type XmlElement,
  xmlText,
} from './xml/xml-element.ts';
