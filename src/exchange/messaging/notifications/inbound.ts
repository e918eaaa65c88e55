import {
  messageTime,
  type ReadContent,
  type ReadMessage,
  type SubjectNumber,
} from '#hl7v2-to-fhir';
import type { EncounterEvent } from './rules/encounter-event.ts';

/**
 * A parsed message of a sender: of HL7 v2, or a FHIR Bundle, whose id is that of
 * the message and whose focus is its trigger (`Encounter`).
 */
export interface InboundMessage extends Omit<ReadMessage, 'content'> {
  content: InboundContent;
}

export type InboundContent =
  | Exclude<ReadContent, { kind: 'encounter' }>
  | {
      kind: 'encounter';
      /** The sender's visit number. */
      sourceId: string;
      numbers?: readonly SubjectNumber[];
      event: Omit<
        EncounterEvent,
        'messageKey' | 'arrival' | 'recordedAt' | 'sentAt'
      >;
    };

/**
 * Whether a text is a calendar date such as `1980-02-29`, within the accepted
 * years.
 */
export const isDay = (text: string | undefined): text is string =>
  text !== undefined &&
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  messageTime(Date.parse(`${text}T00:00:00Z`))?.startsWith(text) === true;

export type InboundFormat = 'hl7v2' | 'fhir';
