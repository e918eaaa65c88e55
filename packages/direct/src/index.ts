export {
  CONTEXT_PATIENT_ATTRIBUTES,
  type ContextPatient,
  type ContextPatientAttribute,
  type MessageContext,
} from './context/read-context.ts';
export { type ContextToWrite, writeContext } from './context/write-context.ts';
export { DirectError, type DirectErrorCode } from './direct-error.ts';
export type { DnsServer } from './discovery/ask-dns.ts';
export { DiscoveryError } from './discovery/discovery-error.ts';
export {
  type DiscoveryOptions,
  findCertificates,
} from './discovery/find-certificates.ts';
export { type MailServer, MailServerError } from './edge/mail-server.ts';
export {
  type ArrivedMail,
  LOGIN_REFUSED,
  type MailboxPosition,
  type MailboxToRead,
  readMailbox,
} from './edge/read-mailbox.ts';
export {
  type MailToSubmit,
  type SubmissionAnswer,
  submitMail,
} from './edge/submit-mail.ts';
export { bareId, isSameMessage } from './mail/mail-ids.ts';
export {
  type DirectMail,
  type MailAttachment,
  readMail,
} from './mail/read-mail.ts';
export {
  type AttachmentToWrite,
  type MailToWrite,
  writeMail,
} from './mail/write-mail.ts';
export {
  type ArrivedReceipt,
  type DeliveryOutcome,
  deliveryOutcome,
  type HandedOver,
  NOTIFICATION_WITHIN_MS,
  type Receipt,
  whatReportSays,
} from './reports/delivery-outcome.ts';
export type {
  DeliveryReport,
  DeliveryStatusNotification,
  DispositionNotification,
  RecipientStatus,
} from './reports/read-report.ts';
export {
  type DispositionToWrite,
  writeDisposition,
} from './reports/write-disposition.ts';
export {
  type DirectIdentity,
  readCertificates,
  readIdentity,
} from './smime/identity.ts';
export { type OpenedMail, openMail } from './smime/open-mail.ts';
export { type OuterHeaders, protectMail } from './smime/protect-mail.ts';
export {
  type RevocationList,
  readRevocationList,
  revocationAddressesOf,
} from './smime/revocation.ts';
export {
  chainToAnchor,
  isMeantFor,
  isTrusted,
  speaksFor,
} from './smime/trust.ts';
export { readTrustBundle, type TrustBundle } from './smime/trust-bundle.ts';
export {
  fileOfXdm,
  readXdm,
  XDM_LIMITS,
  type XdmFile,
  type XdmLimits,
  type XdmPackage,
} from './xdm/read-xdm.ts';
export {
  writeXdm,
  type XdmDocument,
  type XdmToWrite,
  xdmFileName,
} from './xdm/write-xdm.ts';
export { XDM_SUBJECT } from './xdm/xdm-names.ts';
