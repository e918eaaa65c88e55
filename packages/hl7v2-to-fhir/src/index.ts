/*
 * Reads HL7 v2 messages, and makes FHIR resources of them (README.md).
 */

export { type AcceptedHl7, acceptHl7 } from './accept-hl7.ts';
export { invalid, UnreadableMessageError } from './errors.ts';
export { FIELDS_LEFT_OUT } from './left-out.ts';
export { type Hl7Message, parseHl7 } from './message.ts';
export { readHl7, reportedInHl7 } from './read-hl7.ts';
export type {
  ClinicalItem,
  OrderStatus,
  ReadContent,
  ReadMessage,
  ReportedResource,
  ReportedSubject,
  StayEvent,
  SubjectNumber,
} from './read-message.ts';
export { statusRank } from './status-rank.ts';
export { withoutFrame } from './text.ts';
export { messageTime, parseHl7Time } from './time.ts';
export { VITAL_SIGN_CODES } from './vital-signs.ts';
