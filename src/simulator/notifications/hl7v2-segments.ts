import type { SamplePatient } from '../samples.ts';
import type { NotifiedEvent } from './request.ts';

/** What a message is made of, besides its own segments. */
export interface MessageFacts {
  id: string;
  event: NotifiedEvent;
  sample: SamplePatient;
  record: string;
}

/** MSH and PID, as every message begins. @param type of the message: `ADT^A01` */
export function headOf({ id, event, sample, record }: MessageFacts, type: string): string[] {
  const { firstName, lastName, dob, genderAtBirth, address, contact } = sample.createBody;
  const home = address[0];
  return [
    segment('MSH', {
      ...{ 2: 'SIMULATOR', 3: 'MERCY', 4: 'EXCHANGE', 5: 'HUB', 6: hl7Time(event.at), 8: type },
      ...{ 9: id, 10: 'P', 11: '2.5.1' },
    }).replace('MSH|', 'MSH|^~\\&'),
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
  ];
}

/** Builds a segment from fields by number. For MSH the numbers are one lower: its first field is the separator itself. */
export function segment(name: string, fields: Record<number, string>): string {
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
export const text = (value: string): string => value.replaceAll(/[\\|^&~]/g, (sign) => ESCAPES[sign] ?? sign);

export const hl7Time = (iso: string | undefined): string =>
  iso === undefined
    ? ''
    : `${new Date(iso)
        .toISOString()
        .replaceAll(/[-:T]/g, '')
        .replace(/\.\d+Z$/, '')}+0000`;
