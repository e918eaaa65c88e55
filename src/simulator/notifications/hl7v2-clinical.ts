import { headOf, hl7Time, type MessageFacts, segment } from './hl7v2-segments.ts';
import { onePagePdf } from './one-page-pdf.ts';

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
