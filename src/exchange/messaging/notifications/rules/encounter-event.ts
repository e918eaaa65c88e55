import type {
  DiagnosticReport,
  DocumentReference,
  MedicationDispense,
  Observation,
} from 'fhir/r4.js';
import { lookupTable } from '../../../../lib/lookup-table.ts';

/**
 * What one message reports about an encounter, without the person. Times are
 * ISO 8601 in UTC with milliseconds.
 */
export interface EncounterEvent {
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
    | 'cancel-discharge'
    /** Describes the whole encounter, as a FHIR Encounter does. */
    | 'snapshot';
  /**
   * When the source recorded it. Events are applied in this order, however they
   * arrive.
   */
  recordedAt: string;
  sentAt?: string;
  /** Identifies the message; repeated messages have the same key. */
  messageKey: string;
  /**
   * Sorts messages in the order in which they arrived, which decides between
   * those recorded at the same time.
   */
  arrival: string;
  /** When it happened, if the message contains it. */
  occurredAt?: string;
  admittedAt?: string;
  dischargedAt?: string;
  location?: string;
  priorLocation?: string;
  /** Code of HL7's ActEncounterCode: IMP, EMER, AMB, … */
  encounterClass?: string;
  disposition?: string;
  /**
   * The message describes more than the stay: allergies, diagnoses, procedures.
   */
  reports?: true;
  /** Only in a snapshot. */
  phase?: 'open' | 'ended' | 'cancelled';
  transfers?: Transfer[];
}

export interface Transfer {
  at: string;
  from?: string;
  to?: string;
}

/**
 * Order of events recorded and sent at the same time: many sources record no
 * seconds. Of one kind, the later arrival decides.
 */
const RANK: Record<EncounterEvent['trigger'], number> = {
  register: -1,
  admit: 0,
  transfer: 1,
  'cancel-transfer': 2,
  update: 3,
  describe: 3,
  snapshot: 4,
  discharge: 5,
  'cancel-discharge': 6,
  'cancel-admit': 7,
};

/**
 * Sorts events in the order in which the source recorded them, or else sent
 * them. What was taken back at a time counts as later than what happened at it,
 * a corrected result as later than a final one; only after that the order of
 * arrival decides.
 */
export function compareEvents(a: OrderedEvent, b: OrderedEvent): number {
  if (a.recordedAt !== b.recordedAt)
    return a.recordedAt < b.recordedAt ? -1 : 1;
  const sent = a.sentAt ?? '';
  const otherSent = b.sentAt ?? '';
  if (sent !== otherSent) return sent < otherSent ? -1 : 1;
  const kinds = RANK[a.trigger] - RANK[b.trigger];
  if (kinds !== 0) return kinds;
  const ranks = (a.rank ?? FINAL_RANK) - (b.rank ?? FINAL_RANK);
  if (ranks !== 0) return ranks;
  return a.arrival < b.arrival ? -1 : a.arrival > b.arrival ? 1 : 0;
}

export type OrderedEvent = Pick<
  EncounterEvent,
  'recordedAt' | 'sentAt' | 'trigger' | 'arrival'
> & {
  /** The rank of a fill or result; see `statusRank`. */
  rank?: number;
};

type RankedStatus =
  | Observation['status']
  | DiagnosticReport['status']
  | MedicationDispense['status']
  | NonNullable<DocumentReference['docStatus']>;

/**
 * Ranks of results, medication fills and documents by the status of their
 * resource; all other statuses rank as `final`.
 */
const RANKS: Readonly<Record<string, number>> = lookupTable({
  registered: 1,
  preliminary: 1,
  partial: 1,
  unknown: 1,
  'in-progress': 1,
  preparation: 1,
  appended: 3,
  amended: 3,
  corrected: 3,
  'entered-in-error': 3,
} satisfies Partial<Record<RankedStatus, number>>);

const FINAL_RANK = 2;

/**
 * Which of two versions of a result that were sent at the same time is the
 * newer one: a correction or withdrawal over a final result, and that over a
 * preliminary one. Versions of equal rank count in their order of arrival.
 */
export const statusRank = (status: unknown): number =>
  RANKS[String(status)] ?? FINAL_RANK;
