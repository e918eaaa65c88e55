import type { ClinicalItem, OrderStatus } from '#hl7v2-to-fhir';
import type { StoredInboundEvent, StoredSubject } from './inbound-store.ts';
import { compareEvents, type EncounterEvent } from './rules/encounter-event.ts';
import {
  type EncounterFact,
  type EncounterState,
  encounterState,
} from './rules/encounter-state.ts';

/** A fact about a subject, announced to an account once for each key. */
export type Fact = Omit<EncounterFact, 'type'> & {
  type: EncounterFact['type'] | 'pharmacy' | 'laboratory';
};

/** A fill or a result according to its newest message. */
export interface ItemState {
  at?: string;
  /** What a report says of the order that it answers. */
  orderStatus?: OrderStatus;
  facts: Fact[];
}

export type SubjectState =
  | ({ kind: 'encounter' } & EncounterState)
  | ({ kind: 'pharmacy' | 'laboratory' | 'clinical' } & ItemState);

/**
 * The events in the order in which the source recorded them; between equal
 * times see `compareEvents`.
 */
export const inOrder = (
  events: readonly StoredInboundEvent[],
): StoredInboundEvent[] =>
  [...events].sort((a, b) => compareEvents(orderOf(a), orderOf(b)));

const orderOf = ({
  recordedAt,
  sentAt,
  arrival,
  content,
}: StoredInboundEvent) => ({
  recordedAt,
  sentAt,
  arrival,
  rank: (content as Partial<ClinicalItem>).rank,
  trigger:
    (content as Partial<EncounterEvent>).trigger ?? ('snapshot' as const),
});

/** Computes the present state of a subject from its events. */
export function subjectState({
  kind,
  events,
}: Pick<StoredSubject, 'kind' | 'events'>): SubjectState {
  if (kind === 'encounter') {
    const encounterEvents = events.map(
      ({ content, recordedAt, sentAt, messageKey, arrival }) => ({
        ...(content as unknown as Omit<
          EncounterEvent,
          'recordedAt' | 'messageKey' | 'arrival'
        >),
        recordedAt,
        sentAt,
        messageKey,
        arrival,
      }),
    );
    return { kind, ...encounterState(encounterEvents) };
  }
  // A change of the person says nothing about a fill or a result.
  const newest = inOrder(events).findLast(
    ({ content }) => !('trigger' in content),
  );
  const item = newest?.content as unknown as ClinicalItem | undefined;
  if (newest === undefined || item === undefined) return { kind, facts: [] };
  if (kind === 'clinical') return { kind, at: item.at, facts: [] };
  const fact: Fact = {
    type: kind,
    key: kind,
    at: item.at,
    sentAt: newest.sentAt,
  };
  return {
    kind,
    at: item.at,
    orderStatus: item.orderStatus,
    facts: item.isTrue ? [fact] : [],
  };
}

/**
 * When an encounter began; if no message contains it, the time of the first
 * event.
 */
export function admittedAt(
  state: Extract<SubjectState, { kind: 'encounter' }>,
  events: readonly StoredInboundEvent[],
): string | undefined {
  return state.admittedAt ?? inOrder(events)[0]?.recordedAt;
}
