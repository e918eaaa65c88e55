import type { Patient } from 'fhir/r4.js';
import type { EncounterEvent } from './rules/encounter-event.ts';

/** A message of a sender, understood. Times are ISO 8601 in UTC with milliseconds. */
export interface InboundMessage {
  /** The sender's own id of the message: MSH-10, or the Bundle's. A repeat has the same. */
  messageId: string;
  /** For operators: `A03`, `Encounter`, `MedicationDispense`. */
  trigger: string;
  recordedAt: string;
  sentAt?: string;
  /** Whom it is about, as the sender describes them. */
  person: Patient;
  /** The sender's record number of that person. */
  sourcePatientId?: string;
  content: InboundContent;
}

export type InboundContent =
  | {
      kind: 'encounter';
      /** The sender's visit number. */
      sourceId: string;
      event: Omit<EncounterEvent, 'messageKey' | 'recordedAt' | 'sentAt'>;
    }
  | { kind: 'pharmacy' | 'laboratory'; items: ClinicalItem[] }
  /** The sender's record `priorPatientId` was merged into `sourcePatientId`. */
  | { kind: 'merge'; priorPatientId: string; sourcePatientId: string };

/** A medication handed over, or a laboratory's result. */
export interface ClinicalItem {
  /** The sender's id of it, with its type: `MedicationDispense/123`. */
  sourceId: string;
  /** When it was handed over, or the specimen taken. */
  at?: string;
  /** False once the sender has taken it back. */
  isTrue: boolean;
}

/**
 * A message that cannot be taken. Its text goes back to the sender and into no log: it names places and rules, never a
 * value.
 */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';

  constructor(
    /** unsupported: a kind of message that is not served here. invalid: something that it needs is missing or wrong. */
    readonly kind: 'unsupported' | 'invalid',
    message: string,
    /** `PV1-19`, `Bundle.entry[1].resource.period.start` */
    readonly place?: string,
  ) {
    super(message);
  }
}
