import { fillMessage, resultMessage } from './hl7v2-clinical.ts';
import { headOf, hl7Time, type MessageFacts, segment, text } from './hl7v2-segments.ts';
import type { NotifiedEvent } from './request.ts';
import type { Visit } from './visits.ts';

const TRIGGERS: Partial<Record<NotifiedEvent['event'], string>> = {
  admit: 'A01',
  transfer: 'A02',
  discharge: 'A03',
  update: 'A08',
  'cancel-admit': 'A11',
  'cancel-transfer': 'A12',
  'cancel-discharge': 'A13',
  merge: 'A40',
};

export interface AdtFacts extends MessageFacts {
  visitNumber: string;
  visit: Visit;
}

/** A message (HL7 v2.5.1, ER7) as a hospital, a laboratory or a pharmacy would send it. */
export function hl7Message(facts: AdtFacts): string {
  switch (facts.event.event) {
    case 'fill':
      return fillMessage(facts);
    case 'result':
      return resultMessage(facts);
    default:
      return adtMessage(facts);
  }
}

function adtMessage(facts: AdtFacts): string {
  const { event, visitNumber, visit } = facts;
  const trigger = TRIGGERS[event.event];
  if (trigger === undefined) throw new Error(`There is no ADT message for ${event.event}`);
  const time = hl7Time(event.at);
  const [ward, before] = [visit.stays.at(-1), visit.stays.at(-2)];
  const [msh = '', pid = ''] = headOf(facts, `ADT^${trigger}`);
  const segments = [
    msh,
    segment('EVN', { 1: trigger, 2: time, 6: time }),
    pid,
    event.event === 'merge'
      ? segment('MRG', { 1: `${text(event.priorRecord ?? 'unknown')}^^^MERCY^MR` })
      : segment('PV1', {
          ...{ 1: '1', 2: 'I', 3: placeOf(ward?.location), 6: placeOf(before?.location) },
          ...{ 19: `${text(visitNumber)}^^^MERCY`, 36: visit.dischargedAt === undefined ? '' : '01' },
          ...{ 44: hl7Time(visit.admittedAt), 45: hl7Time(visit.dischargedAt) },
        }),
  ];
  return `${segments.join('\r')}\r`;
}

const placeOf = (location: string | undefined): string =>
  location === undefined ? '' : `${text(location)}^^^MERCY`;
