/** What one message tells of an encounter, without whom it is about. Times are ISO 8601 in UTC with milliseconds. */
export interface EncounterEvent {
  trigger:
    | 'admit'
    | 'transfer'
    | 'discharge'
    | 'update'
    | 'cancel-admit'
    | 'cancel-transfer'
    | 'cancel-discharge'
    /** The encounter as a whole, as FHIR tells it. */
    | 'snapshot';
  /** When the source recorded it: events follow each other in this order, however they arrive. */
  recordedAt: string;
  sentAt?: string;
  /** Of the message: the same key is the same message. */
  messageKey: string;
  /** When it happened, where the message tells. */
  occurredAt?: string;
  admittedAt?: string;
  dischargedAt?: string;
  location?: string;
  priorLocation?: string;
  /** Code of HL7's ActEncounterCode: IMP, EMER, AMB, … */
  encounterClass?: string;
  disposition?: string;
  /** Of a snapshot. */
  phase?: 'open' | 'ended' | 'cancelled';
  transfers?: Transfer[];
}

export interface Transfer {
  at: string;
  from?: string;
  to?: string;
}

/** Several events of one minute, for many sources tell no seconds. */
const RANK: Record<EncounterEvent['trigger'], number> = {
  admit: 0,
  transfer: 1,
  'cancel-transfer': 2,
  update: 3,
  snapshot: 4,
  discharge: 5,
  'cancel-discharge': 6,
  'cancel-admit': 7,
};

/** Which of two events the source recorded first; negative: `a`. */
export function compareEvents(a: OrderedEvent, b: OrderedEvent): number {
  if (a.recordedAt !== b.recordedAt) return a.recordedAt < b.recordedAt ? -1 : 1;
  if (a.trigger !== b.trigger) return RANK[a.trigger] - RANK[b.trigger];
  return a.messageKey < b.messageKey ? -1 : a.messageKey > b.messageKey ? 1 : 0;
}

export type OrderedEvent = Pick<EncounterEvent, 'recordedAt' | 'trigger' | 'messageKey'>;
