export {
  type DocumentContent,
  type DocumentToWrite,
  readDocumentContent,
  writeDocumentContent,
} from './ebxml/document-content.ts';

export {
  comparableHash,
  type DocumentAuthor,
  type DocumentEntry,
  type EntryRemark,
} from './ebxml/document-entry.ts';
export type { Coded } from './ebxml/registry-elements.ts';
export {
  FIND_DOCUMENTS,
  ON_DEMAND_ENTRY,
  type RegistryStatus,
  STABLE_ENTRY,
} from './ebxml/registry-names.ts';
export {
  buildRegistryResponse,
  type RegistryFault,
  type RegistryOutcome,
  RegistryProblem,
  registryErrors,
} from './ebxml/registry-response.ts';
export type { DocumentMetadata } from './ebxml/write-document-entry.ts';
export {
  IHE_ERROR_MEANINGS,
  type IheErrorMeaning,
  type KnownIheError,
  meaningOfIheError,
  weightiestMeaning,
} from './errors.ts';
export type {
  InstanceId,
  PersonFacts,
  PersonNameParts,
  PostalAddress,
} from './hl7v3.ts';
export {
  type GatewayAnswer,
  GatewayClient,
  type GatewayOptions,
  type GatewayRequest,
} from './http/gateway-client.ts';
export {
  comparableId,
  isSameId,
  type PatientIdentifier,
  queryLiteral,
  readCx,
  readQueryLiterals,
  withoutUrn,
  withUrnOid,
  writeCx,
} from './identifiers.ts';

export { IheError, type IheErrorCode } from './ihe-error.ts';
export {
  type Credentials,
  readCredentials,
  subjectName,
} from './security/credentials.ts';
export {
  findAssertion,
  readAssertion,
  type SamlAssertion,
  type SamlCode,
} from './security/read-assertion.ts';
export {
  NAME_FORMATS,
  NAME_ID_FORMATS,
  SAML_ATTRIBUTES,
} from './security/saml-names.ts';
export {
  type VerifyOptions,
  verifySecurity,
} from './security/verify-security.ts';
export type {
  SamlName,
  SamlStatement,
  SamlStyle,
} from './security/write-assertion.ts';
export {
  type SecurityOptions,
  writeSecurity,
} from './security/write-security.ts';
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
export {
  birthDateOfHl7,
  type Hl7Time,
  readHl7Time,
  writeHl7Date,
  writeHl7Time,
} from './times.ts';
export { CROSS_GATEWAY_ACTIONS } from './xca/cross-gateway-messages.ts';
export {
  buildFindDocuments,
  type DocumentPeriod,
  type DocumentQueryRequest,
  type FindDocumentsQuestion,
  queryValues,
  readDocumentQuery,
} from './xca/find-documents.ts';
export {
  buildFindDocumentsResponse,
  type CrossGatewayOutcome,
  type FindDocumentsResponse,
  type RegistryRemark,
  readFindDocumentsResponse,
} from './xca/find-documents-response.ts';
export {
  buildRetrieve,
  type DocumentReferenceIds,
  isSameDocument,
  type RequestedDocument,
  readRetrieve,
} from './xca/retrieve-documents.ts';
export {
  accountForRetrieval,
  buildRetrieveResponse,
  type DocumentToRetrieve,
  type RetrievalAccount,
  type RetrievedDocument,
  type RetrieveResponse,
  readRetrieveResponse,
} from './xca/retrieve-response.ts';
export {
  buildDiscoveryAcknowledgement,
  buildPatientDiscoveryResponse,
  type DiscoveryVerdict,
  type MatchedPatient,
  type PatientDiscoveryReply,
} from './xcpd/build-discovery-response.ts';
export {
  buildPatientDiscovery,
  type PatientDiscoveryQuestion,
} from './xcpd/build-patient-discovery.ts';
export {
  DISCOVERY_ACTIONS,
  type DiscoveryCriteria,
  type GatewayIdentity,
  NPI_ROOT,
  SSN_ROOT,
} from './xcpd/discovery-messages.ts';
export {
  type AttributeRequest,
  type DiscoveredPatient,
  type DiscoveryFacts,
  type DiscoveryProblem,
  type DiscoveryRemark,
  type PatientDiscoveryResponse,
  patientsByCommunity,
  readPatientDiscoveryResponse,
  type WantedAttribute,
} from './xcpd/read-discovery-response.ts';
export {
  type DiscoveryRequirement,
  isDeferredDiscovery,
  type PatientDiscoveryRequest,
  readPatientDiscovery,
} from './xcpd/read-patient-discovery.ts';
export type { MessageHead } from './xcpd/write-discovery-parts.ts';
export {
  buildMediaMetadata,
  buildSubmission,
  type SubmissionOnMedia,
  type SubmissionToBuild,
} from './xdr/build-submission.ts';
export {
  type DocumentSubmission,
  readMediaMetadata,
  readSubmission,
  type SubmissionFault,
  type SubmissionRemark,
  type SubmissionSet,
  type SubmittedDocument,
  submittedContentFaults,
} from './xdr/read-submission.ts';
export { SUBMISSION_ACTIONS } from './xdr/submission-messages.ts';
export {
  readSubmissionResponse,
  type SubmissionResponse,
} from './xdr/submission-response.ts';
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
