import type { SamplePatient } from '../../../src/local-stack/sample-patients.ts';
import type { NotifiedEvent } from '../../../src/local-stack/simulator/notifications.ts';
import type { Visit } from './visits.ts';

/** The trigger event of HL7 v2 for each event that an ADT message reports. */
const TRIGGERS: Readonly<Partial<Record<NotifiedEvent['event'], string>>> = {
  admit: 'A01',
  transfer: 'A02',
  discharge: 'A03',
  update: 'A08',
  'cancel-admit': 'A11',
  'cancel-transfer': 'A12',
  'cancel-discharge': 'A13',
  merge: 'A40',
};

/** What a message is made of, besides its own segments. */
interface MessageFacts {
  id: string;
  event: NotifiedEvent;
  sample: SamplePatient;
  record: string;
}

export interface AdtFacts extends MessageFacts {
  visitNumber: string;
  visit: Visit;
}

/**
 * A message (HL7 v2.5.1, ER7) as a hospital, a laboratory or a pharmacy would
 * send it.
 */
export function hl7Message(facts: AdtFacts): string {
  const { event, visitNumber, visit } = facts;
  if (event.event === 'fill') return fillMessage(facts);
  if (event.event === 'result') return resultMessage(facts);
  const trigger = TRIGGERS[event.event];
  if (trigger === undefined)
    throw new Error(`There is no ADT message for ${event.event}`);
  const time = hl7Time(event.at);
  return message(`ADT^${trigger}`, facts, [
    `EVN|${trigger}|${time}||||${time}`,
    personSegment(facts),
    event.event === 'merge'
      ? `MRG|${text(event.priorRecord ?? 'unknown')}^^^MERCY^MR`
      : visitSegment(visitNumber, visit),
  ]);
}

function visitSegment(visitNumber: string, visit: Visit): string {
  const ward = placeOf(visit.stays.at(-1)?.location);
  const wardBefore = placeOf(visit.stays.at(-2)?.location);
  const disposition = visit.dischargedAt === undefined ? '' : '01';
  const admitted = hl7Time(visit.admittedAt);
  const discharged = hl7Time(visit.dischargedAt);
  return `PV1|1|I|${ward}|||${wardBefore}|||||||||||||${text(visitNumber)}^^^MERCY|||||||||||||||||${disposition}||||||||${admitted}|${discharged}`;
}

const placeOf = (location: string | undefined): string =>
  location === undefined ? '' : `${text(location)}^^^MERCY`;

/**
 * A result message (ORU^R01) as a laboratory would send it: a panel, and the
 * report as a file.
 */
export function resultMessage(facts: MessageFacts): string {
  const time = hl7Time(facts.event.at);
  const report = Buffer.from(
    onePagePdf('Basic metabolic panel: see the results'),
  ).toString('base64');
  return message('ORU^R01', facts, [
    personSegment(facts),
    `OBR|1||lab-${facts.id}|51990-0^Basic metabolic panel^LN|||${time}|||||||||||||||${time}||LAB|F`,
    `OBX|1|NM|2345-7^Glucose^LN||92|mg/dL^^UCUM|70-99|N|||F|||${time}`,
    `OBX|2|NM|2951-2^Sodium^LN||139|mmol/L^^UCUM|136-145|N|||F|||${time}`,
    `OBX|3|NM|2823-3^Potassium^LN||5.4|mmol/L^^UCUM|3.5-5.1|H|||F|||${time}`,
    `OBX|4|ED|11502-2^Laboratory report^LN||LAB^application^pdf^Base64^${report}||||||F`,
    `SPM|1|||BLD^Blood^HL70487|||||||||||||${time}`,
  ]);
}

/** A dispense message (RDS^O13) as a pharmacy would send it. */
export const fillMessage = (facts: MessageFacts): string =>
  message('RDS^O13', facts, [
    personSegment(facts),
    `ORC|RE||rx-${facts.id}`,
    'RXE||314076^Lisinopril 10 MG Oral Tablet^RXNORM|||||^One tablet a day',
    `RXD|1|314076^Lisinopril 10 MG Oral Tablet^RXNORM|${hl7Time(facts.event.at)}|30|EA^tablet||rx-${facts.id}`,
    'RXR|PO^Oral^HL70162',
  ]);

/**
 * The segments after the header of their message.
 *
 * @param type of the message: `ADT^A01`
 */
const message = (
  type: string,
  { id, event }: MessageFacts,
  segments: readonly string[],
): string =>
  [
    `MSH|^~\\&|SIMULATOR|MERCY|EXCHANGE|HUB|${hl7Time(event.at)}||${type}|${id}|P|2.5.1`,
    ...segments,
  ]
    .map((segment) => `${segment}\r`)
    .join('');

function personSegment({ sample, record }: MessageFacts): string {
  const { firstName, lastName, dob, genderAtBirth, address, contact } =
    sample.createBody;
  const home = address[0];
  const lines = home && [
    home.addressLine1,
    home.addressLine2 ?? '',
    home.city,
    home.state,
    home.zip,
    'USA',
  ];
  const born = dob.replaceAll('-', '');
  const at = lines?.map(text).join('^') ?? '';
  const phone = contact[0]?.phone ?? '';
  return `PID|1||${text(record)}^^^MERCY^MR||${text(lastName)}^${text(firstName)}^^^^^L||${born}|${genderAtBirth}|||${at}||${phone}`;
}

/**
 * A PDF of one page with one line of text; the text must contain no brackets or
 * backslashes.
 */
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

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\E\\',
  '|': '\\F\\',
  '^': '\\S\\',
  '&': '\\T\\',
  '~': '\\R\\',
};
const text = (value: string): string =>
  value.replaceAll(/[\\|^&~]/g, (sign) => ESCAPES[sign] ?? sign);

const hl7Time = (iso: string | undefined): string =>
  iso === undefined
    ? ''
    : `${new Date(iso)
        .toISOString()
        .replaceAll(/[-:T]/g, '')
        .replace(/\.\d+Z$/, '')}+0000`;
