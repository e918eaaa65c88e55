import type { SamplePatient } from '../samples.ts';
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

export interface AdtFacts {
  id: string;
  event: NotifiedEvent;
  sample: SamplePatient;
  record: string;
  visitNumber: string;
  visit: Visit;
}

/** An ADT message (HL7 v2.5.1, ER7) as a hospital would send it. */
export function adtMessage({ id, event, sample, record, visitNumber, visit }: AdtFacts): string {
  const trigger = TRIGGERS[event.event];
  if (trigger === undefined) throw new Error(`There is no ADT message for ${event.event}`);
  const { firstName, lastName, dob, genderAtBirth, address, contact } = sample.createBody;
  const time = hl7Time(event.at);
  const home = address[0];
  const [ward, before] = [visit.stays.at(-1), visit.stays.at(-2)];
  const segments = [
    segment('MSH', {
      ...{ 2: 'SIMULATOR', 3: 'MERCY', 4: 'EXCHANGE', 5: 'HUB', 6: time, 8: `ADT^${trigger}` },
      ...{ 9: id, 10: 'P', 11: '2.5.1' },
    }).replace('MSH|', 'MSH|^~\\&'),
    segment('EVN', { 1: trigger, 2: time, 6: time }),
    segment('PID', {
      ...{ 1: '1', 3: `${text(record)}^^^MERCY^MR`, 5: `${text(lastName)}^${text(firstName)}^^^^^L` },
      ...{ 7: dob.replaceAll('-', ''), 8: genderAtBirth, 13: contact[0]?.phone ?? '' },
      11:
        home === undefined
          ? ''
          : [home.addressLine1, home.addressLine2 ?? '', home.city, home.state, home.zip, 'USA']
              .map(text)
              .join('^'),
    }),
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

/** Builds a segment from fields by number. For MSH the numbers are one lower: its first field is the separator itself. */
function segment(name: string, fields: Record<number, string>): string {
  const last = Math.max(...Object.keys(fields).map(Number));
  return [name, ...Array.from({ length: last }, (_, index) => fields[index + 1] ?? '')].join('|');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\E\\',
  '|': '\\F\\',
  '^': '\\S\\',
  '&': '\\T\\',
  '~': '\\R\\',
};
const text = (value: string): string => value.replaceAll(/[\\|^&~]/g, (sign) => ESCAPES[sign] ?? sign);
const placeOf = (location: string | undefined): string =>
  location === undefined ? '' : `${text(location)}^^^MERCY`;
const hl7Time = (iso: string | undefined): string =>
  iso === undefined
    ? ''
    : `${new Date(iso)
        .toISOString()
        .replaceAll(/[-:T]/g, '')
        .replace(/\.\d+Z$/, '')}+0000`;
