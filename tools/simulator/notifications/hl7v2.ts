import { filledText } from '../../../src/lib/filled.ts';
import type { SamplePatient } from '../../../src/local-stack/sample-patients.ts';
import type { NotifiedEvent } from '../../../src/local-stack/simulator/notifications.ts';
import templates from './messages.json' with { type: 'json' };
import type { Visit } from './visits.ts';

const { triggers, shared, ...MESSAGES } = templates.hl7v2;
const TRIGGERS: Readonly<Partial<Record<string, string>>> = triggers;
const SHARED: Readonly<Partial<Record<string, string>>> = shared;

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
  const ward = visit.stays.at(-1);
  const before = visit.stays.at(-2);
  return message(
    event.event === 'merge' ? 'merge' : 'encounter',
    `ADT^${trigger}`,
    facts,
    {
      trigger,
      visit: text(visitNumber),
      priorRecord: text(event.priorRecord ?? 'unknown'),
      ward: placeOf(ward?.location),
      wardBefore: placeOf(before?.location),
      admitted: hl7Time(visit.admittedAt),
      discharged: hl7Time(visit.dischargedAt),
      disposition: visit.dischargedAt === undefined ? '' : '01',
    },
  );
}

const placeOf = (location: string | undefined): string =>
  location === undefined ? '' : `${text(location)}^^^MERCY`;

/**
 * A result message (ORU^R01) as a laboratory would send it: a panel, and the
 * report as a file.
 */
export const resultMessage = (facts: MessageFacts): string =>
  message('result', 'ORU^R01', facts, {
    report: Buffer.from(
      onePagePdf('Basic metabolic panel: see the results'),
    ).toString('base64'),
  });

/** A dispense message (RDS^O13) as a pharmacy would send it. */
export const fillMessage = (facts: MessageFacts): string =>
  message('fill', 'RDS^O13', facts);

/**
 * The message with the segments of `messages.json`. @param type of the message:
 * `ADT^A01`
 */
function message(
  name: keyof typeof MESSAGES,
  type: string,
  { id, event, sample, record }: MessageFacts,
  more: Readonly<Record<string, string>> = {},
): string {
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
  const values = {
    ...more,
    id,
    type,
    time: hl7Time(event.at),
    record: text(record),
    firstName: text(firstName),
    lastName: text(lastName),
    dob: dob.replaceAll('-', ''),
    gender: genderAtBirth,
    address: lines?.map(text).join('^'),
    phone: contact[0]?.phone,
  };
  return MESSAGES[name]
    .map((segment) => `${filledText(SHARED[segment] ?? segment, values)}\r`)
    .join('');
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
