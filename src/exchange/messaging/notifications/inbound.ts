import type { Patient } from 'fhir/r4.js';
import type { EncounterEvent } from './rules/encounter-event.ts';
import type { ReportedResource } from './rules/present-resources.ts';

/**
 * A parsed message of a sender. Times are ISO 8601 in UTC with milliseconds.
 */
export interface InboundMessage {
  /**
   * The sender's id of the message, within the application that sent it: MSH-3,
   * MSH-4 and MSH-10, or the id of the Bundle.
   */
  messageId: string;
  /**
   * SHA-256 (hex) of what the message says. A repeated message has the same id
   * and says the same: senders begin their numbers anew, and two applications
   * may use the same ones.
   */
  fingerprint: string;
  /**
   * The kind of message, for operators: `A03`, `Encounter`,
   * `MedicationDispense`.
   */
  trigger: string;
  recordedAt: string;
  sentAt?: string;
  /** The person it is about, as the sender describes them. */
  person: Patient;
  /** The sender's record number of that person. */
  sourcePatientId?: string;
  content: InboundContent;
  /**
   * What the message contains and we do not use (`PID-13`, `NK1`); never a
   * value.
   */
  unused?: readonly string[];
  /**
   * What of that which is read an HL7 v2 message holds, and hashes of the
   * sender's own codes in it; never a value.
   */
  filled?: string[];
  ownCodes?: string[];
}

export type InboundContent =
  | {
      kind: 'encounter';
      /** The sender's visit number. */
      sourceId: string;
      event: Omit<
        EncounterEvent,
        'messageKey' | 'arrival' | 'recordedAt' | 'sentAt'
      >;
    }
  | { kind: 'pharmacy' | 'laboratory'; items: ClinicalItem[] }
  /**
   * What is recorded and not announced: documents, immunizations, orders,
   * prescriptions, appointments.
   */
  | { kind: 'clinical'; items: ClinicalItem[] }
  /** A new description of the person of a record, perhaps with allergies. */
  | { kind: 'person'; sourcePatientId: string; items?: ClinicalItem[] }
  /** The sender's record `priorPatientId` was merged into `sourcePatientId`. */
  | { kind: 'merge'; priorPatientId: string; sourcePatientId: string };

/** A medication fill, a laboratory result, or what else is recorded. */
export interface ClinicalItem {
  /** The sender's id, with the type: `MedicationDispense/123`. */
  sourceId: string;
  /** When the medication was handed over, or the specimen collected. */
  at?: string;
  /** False when the sender has withdrawn it, or it has not happened yet. */
  isTrue: boolean;
  /** See `statusRank`. Default: as a final result. */
  rank?: number;
  /**
   * Only of a report that is known by a number that laboratories use again (HL7
   * v2): when the specimen was collected, as precise as FHIR has it, and whether
   * it corrects what was reported before.
   */
  specimen?: string;
  corrects?: boolean;
}

/**
 * What a message reports about one encounter, fill or result, as FHIR
 * resources.
 */
export interface ReportedSubject {
  kind: 'encounter' | 'pharmacy' | 'laboratory' | 'clinical';
  /** As in `InboundContent`. */
  sourceId: string;
  resources: readonly ReportedResource[];
}

/**
 * A message that is refused. The error message is returned to the sender and
 * never logged. It names places and rules, never a value.
 */
export class UnreadableMessageError extends Error {
  override readonly name = 'UnreadableMessageError';

  /**
   * unsupported: this kind of message is not supported. invalid: a required
   * part is missing or wrong. failed: the message may be right, and we could
   * not store it.
   */
  readonly kind: 'unsupported' | 'invalid' | 'failed';
  /** `PV1-19`, `Bundle.entry[1].resource.period.start` */
  readonly place?: string;

  constructor(
    kind: 'unsupported' | 'invalid' | 'failed',
    message: string,
    place?: string,
  ) {
    super(message);
    this.kind = kind;
    this.place = place;
  }
}

/** A required part of the message is missing or wrong. */
export const invalid = (
  message: string,
  place?: string,
): UnreadableMessageError =>
  new UnreadableMessageError('invalid', message, place);

/**
 * Times outside these years are taken as errors; PostgreSQL cannot store some
 * of them.
 */
const FIRST_YEAR = 1_900;
const LAST_YEAR = 2_199;

/**
 * Milliseconds since the epoch as ISO 8601 in UTC; undefined for NaN and for
 * times outside the accepted years.
 */
export function messageTime(ms: number): string | undefined {
  if (Number.isNaN(ms)) return undefined;
  const at = new Date(ms);
  const year = at.getUTCFullYear();
  return year >= FIRST_YEAR && year <= LAST_YEAR ? at.toISOString() : undefined;
}

/**
 * Whether a text is a calendar date such as `1980-02-29`, within the accepted
 * years.
 */
export const isDay = (text: string | undefined): text is string =>
  text !== undefined &&
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  messageTime(Date.parse(`${text}T00:00:00Z`))?.startsWith(text) === true;

export type InboundFormat = 'hl7v2' | 'fhir';
