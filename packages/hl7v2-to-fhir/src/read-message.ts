import type { FhirResource, Patient } from 'fhir/r4.js';

/**
 * A message as it was read. Times are ISO 8601 in UTC with milliseconds.
 */
export interface ReadMessage {
  /**
   * The sender's id of the message, within the application that sent it: MSH-3,
   * MSH-4 and MSH-10.
   */
  messageId: string;
  /**
   * SHA-256 (hex) of what the message says. A repeated message has the same id
   * and says the same: senders begin their numbers anew, and two applications
   * may use the same ones.
   */
  fingerprint: string;
  /** The kind of message, for operators: `A03`, `R01`. */
  trigger: string;
  recordedAt: string;
  sentAt?: string;
  /** The person it is about, as the sender describes them. */
  person: Patient;
  /** The sender's record number of that person. */
  sourcePatientId?: string;
  content: ReadContent;
  /** Allergies beside another content: those of the person. */
  beside?: ClinicalItem[];
  /** What the message contains and is not read (`PID-13`); never a value. */
  unused?: readonly string[];
  /**
   * What of that which is read the message holds, and hashes of the sender's own
   * codes in it; never a value.
   */
  filled?: string[];
  ownCodes?: string[];
}

export type ReadContent =
  /** What happened to a stay, by the sender's visit number. */
  | {
      kind: 'encounter';
      sourceId: string;
      event: StayEvent;
      numbers?: readonly SubjectNumber[];
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

/** What a message says about a stay. */
export interface StayEvent {
  trigger:
    | 'admit'
    /**
     * A patient registered: the begin of a stay, unless the class is that of an
     * outpatient visit.
     */
    | 'register'
    | 'transfer'
    | 'discharge'
    | 'update'
    /**
     * Describes a stay that goes on; if it is the first that is heard of it,
     * that it began.
     */
    | 'describe'
    | 'cancel-admit'
    | 'cancel-transfer'
    | 'cancel-discharge';
  /** When it happened, if the message contains it. */
  occurredAt?: string;
  admittedAt?: string;
  dischargedAt?: string;
  /** The sender deleted the time of the discharge (PV1-45 `""`). */
  isDischargeDeleted?: true;
  /** How the sender wrote the times above, in FHIR's form with its offset. */
  written?: Readonly<Record<string, string>>;
  location?: string;
  priorLocation?: string;
  /** Code of HL7's ActEncounterCode: IMP, EMER, AMB, … */
  encounterClass?: string;
  disposition?: string;
  /**
   * The message describes more than the stay: allergies, diagnoses, procedures.
   */
  reports?: true;
}

/**
 * A number of a subject, by which other messages name it, too; without the
 * authority that assigned it, because many senders leave that out.
 */
export interface SubjectNumber {
  /** Numbers of different things may be equal: `order`, `report`, `visit`. */
  of: string;
  value: string;
  authority?: string;
  /**
   * `identifies`: a subject with it is this one. `own`: it is one of the
   * subject's. `refers`: it is one of another subject, as of the order that a
   * report answers.
   */
  role: 'identifies' | 'own' | 'refers';
}

/** What of an order its results say. */
export type OrderStatus = 'active' | 'completed' | 'revoked';

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
   * Only of what is known by a number that senders use again (HL7 v2): when the
   * specimen of a report was collected or the medication handed over, as precise
   * as FHIR has it, and whether it corrects what was reported before.
   */
  specimen?: string;
  corrects?: boolean;
  numbers?: readonly SubjectNumber[];
  orderStatus?: OrderStatus;
}

/**
 * What a message reports about one encounter, fill or result, as FHIR
 * resources.
 */
export interface ReportedSubject {
  kind: 'encounter' | 'pharmacy' | 'laboratory' | 'clinical';
  /** As in `ReadContent`. */
  sourceId: string;
  numbers?: readonly SubjectNumber[];
  resources: readonly ReportedResource[];
}

/**
 * A resource that a message reports. References among a message's resources are
 * `Type/id`; the person is `Patient/person`.
 */
export interface ReportedResource {
  resource: FhirResource & { id: string };
  /**
   * The sender gave it neither id nor identifier, so that it cannot be
   * recognised in another message.
   */
  isAnonymous?: boolean;
  /** Only the status is new; what an earlier message reported besides stays. */
  isStatusOnly?: boolean;
  /** The Observation of another report of the sender that it derives from. */
  parent?: { sourceId: string; id: string };
}
