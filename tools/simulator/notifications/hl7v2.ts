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

/** A result message (ORU^R01) as a laboratory would send it: a panel, and the report as a file. */
export function resultMessage(facts: MessageFacts): string {
  const { id, event } = facts;
  const at = hl7Time(event.at);
  const number = `lab-${id}`;
  const report = Buffer.from(onePagePdf('Basic metabolic panel: see the results')).toString('base64');
  const result = (place: number, code: string, value: string, unit: string, range: string, flag: string) =>
    segment('OBX', {
      ...{ 1: String(place), 2: 'NM', 3: `${code}^LN`, 5: value, 6: `${unit}^^UCUM`, 7: range, 8: flag },
      ...{ 11: 'F', 14: at },
    });
  const [msh = '', pid = ''] = headOf(facts, 'ORU^R01');
  return ended([
    msh,
    pid,
    segment('OBR', {
      ...{ 1: '1', 3: number, 4: '51990-0^Basic metabolic panel^LN', 7: at, 22: at, 24: 'LAB', 25: 'F' },
    }),
    result(1, '2345-7^Glucose', '92', 'mg/dL', '70-99', 'N'),
    result(2, '2951-2^Sodium', '139', 'mmol/L', '136-145', 'N'),
    result(3, '2823-3^Potassium', '5.4', 'mmol/L', '3.5-5.1', 'H'),
    segment('OBX', {
      ...{ 1: '4', 2: 'ED', 3: '11502-2^Laboratory report^LN', 11: 'F' },
      5: `LAB^application^pdf^Base64^${report}`,
    }),
    segment('SPM', { 1: '1', 4: 'BLD^Blood^HL70487', 17: at }),
  ]);
}

/** A dispense message (RDS^O13) as a pharmacy would send it. */
export function fillMessage(facts: MessageFacts): string {
  const { id, event } = facts;
  const drug = '314076^Lisinopril 10 MG Oral Tablet^RXNORM';
  const [msh = '', pid = ''] = headOf(facts, 'RDS^O13');
  return ended([
    msh,
    pid,
    segment('ORC', { 1: 'RE', 3: `rx-${id}` }),
    segment('RXE', { 2: drug, 7: '^One tablet a day' }),
    segment('RXD', { 1: '1', 2: drug, 3: hl7Time(event.at), 4: '30', 5: 'EA^tablet', 7: `rx-${id}` }),
    segment('RXR', { 1: 'PO^Oral^HL70162' }),
  ]);
}

const ended = (segments: readonly string[]): string => `${segments.join('\r')}\r`;

/** A PDF of one page with one line of text; the text must contain no brackets or backslashes. */
function onePagePdf(line: string): string {
  const content = `BT /F1 18 Tf 72 720 Td (${line}) Tj ET`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let pdf = '%PDF-1.4\n';
  const offsets = objects.map((object, index) => {
    const offset = pdf.length;
    pdf += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, '0')} 00000 n \n`;
  });
  const size = objects.length + 1;
  return `${pdf}xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`;
}

/** What a message is made of, besides its own segments. */
interface MessageFacts {
  id: string;
  event: NotifiedEvent;
  sample: SamplePatient;
  record: string;
}

/** MSH and PID, as every message begins. @param type of the message: `ADT^A01` */
function headOf({ id, event, sample, record }: MessageFacts, type: string): string[] {
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

const hl7Time = (iso: string | undefined): string =>
  iso === undefined
    ? ''
    : `${new Date(iso)
        .toISOString()
        .replaceAll(/[-:T]/g, '')
        .replace(/\.\d+Z$/, '')}+0000`;
