import { type StayEvent, statusRank } from '#hl7v2-to-fhir';

/**
 * What one message reports about an encounter, without the person. Times are
 * ISO 8601 in UTC with milliseconds.
 */
export interface EncounterEvent extends Omit<StayEvent, 'trigger'> {
  trigger:
    | StayEvent['trigger']
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

const FINAL_RANK = statusRank('final');

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
