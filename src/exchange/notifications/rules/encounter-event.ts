/** What one message reports about an encounter, without the person. Times are ISO 8601 in UTC with milliseconds. */
export interface EncounterEvent {
  trigger:
    | 'admit'
    /** A patient registered: the begin of a stay, unless the class is that of an outpatient visit. */
    | 'register'
    | 'transfer'
    | 'discharge'
    | 'update'
    | 'cancel-admit'
    | 'cancel-transfer'
    | 'cancel-discharge'
    /** Describes the whole encounter, as a FHIR Encounter does. */
    | 'snapshot';
  /** When the source recorded it. Events are applied in this order, however they arrive. */
  recordedAt: string;
  sentAt?: string;
  /** Identifies the message; repeated messages have the same key. */
  messageKey: string;
  /** When it happened, if the message contains it. */
  occurredAt?: string;
  admittedAt?: string;
  dischargedAt?: string;
  location?: string;
  priorLocation?: string;
  /** Code of HL7's ActEncounterCode: IMP, EMER, AMB, … */
  encounterClass?: string;
  disposition?: string;
  /** Only in a snapshot. */
  phase?: 'open' | 'ended' | 'cancelled';
  transfers?: Transfer[];
}

export interface Transfer {
  at: string;
  from?: string;
  to?: string;
}

/** Order of events with the same time: many sources record no seconds. */
const RANK: Record<EncounterEvent['trigger'], number> = {
  register: -1,
  admit: 0,
  transfer: 1,
  'cancel-transfer': 2,
  update: 3,
  snapshot: 4,
  discharge: 5,
  'cancel-discharge': 6,
  'cancel-admit': 7,
};

/** Sorts events in the order in which the source recorded them. */
export function compareEvents(a: OrderedEvent, b: OrderedEvent): number {
  if (a.recordedAt !== b.recordedAt) return a.recordedAt < b.recordedAt ? -1 : 1;
  if (a.trigger !== b.trigger) return RANK[a.trigger] - RANK[b.trigger];
  return a.messageKey < b.messageKey ? -1 : a.messageKey > b.messageKey ? 1 : 0;
}

export type OrderedEvent = Pick<EncounterEvent, 'recordedAt' | 'trigger' | 'messageKey'>;
