import type { Bundle } from 'fhir/r4.js';
import { newPerson } from '../support/gateway.ts';
import {
  adtMessage,
  createSenderEnvironment,
  mshOf,
  type Person,
  pidOf,
} from '../support/senders.ts';

const PDF = Buffer.from('%PDF-1.4 of a report').toString('base64');

/**
 * What a hospital, a laboratory and a pharmacy report of a person in HL7 v2,
 * with values of every kind.
 */
const messagesOf = (person: Person): string[] => [
  adtMessage(person, { event: 'A01', hour: '08', visit: 'stay' }),
  adtMessage(person, { event: 'A03', hour: '12', visit: 'stay' }),
  adtMessage(person, {
    event: 'A04',
    hour: '14',
    visit: 'emergency',
    pv1: { 2: 'E' },
  }),
  result(person, 'chemistry', '24323-8^Comprehensive panel^LN', [
    'NM|2951-2^Sodium^LN^NA^Natrium^L||150.5|mmol/L^^UCUM|136-145|H|||F|||202611200755+0000||^Dr Ada',
    'NM|2345-7^Glucose^LN||<5|mg/dL|70-99|LL~A|||P',
    'NM|1988-5^CRP^LN||five|mg/L||||||C',
    'SN|8123-2^CD4/CD8^LN||^1^:^128||||||F',
    'SN|33914-3^eGFR^LN||>=^90|mL/min/{1.73_m2}^^UCUM|||||F',
    'SN|5821-4^Leukocytes^LN||^10^-^20|/HPF|||||F',
    'DT|8665-2^Last menstrual period^LN||20261119||||||F',
    'ST|5778-6^Color of urine^LN||Yellow||||||F',
    'TX|8251-1^Comment^LN||Repeated||||||F',
    'TX|8251-1^Comment^LN||and confirmed||||||F',
    'NM|GLUC^Glucose of the house^L||5.1|mmol/l|||||F',
    'NM|2823-3^Potassium^LN||||||||X',
    `ED|11502-2^Laboratory report^LN||LAB^application^pdf^Base64^${PDF}||||||F`,
  ]),
  [
    result(person, 'culture', '630-4^Urine culture^LN', [
      'CWE|630-4^Bacteria^LN|1|112283007^Escherichia coli^SCT||||||F',
      'CWE|18906-8^Ciprofloxacin susceptibility^LN|1|S^Susceptible^HL70078||||||F',
    ]),
    'SPM|1|||UR^Urine^HL70487|||||||||||||20261120070000+0000',
  ].join('\r'),
  [
    mshOf('RDS^O13', '15'),
    pidOf(person),
    'ORC|RE||RX-1',
    'RXE||308182^Amoxicillin^RXNORM|500||mg||^One capsule three times a day',
    'RXD|2|308182^Amoxicillin 500 mg^RXNORM|20261120|30|EA^capsule||RX-1||Take with food',
    'RXR|PO^Oral^HL70162',
  ].join('\r'),
  [
    mshOf('RDS^O13', '16'),
    pidOf(person),
    'ORC|RE||RX-2',
    'RXD|1|X1^House mixture^L|20261120|1|||RX-2',
  ].join('\r'),
];

const result = (
  person: Person,
  number: string,
  code: string,
  observations: readonly string[],
): string =>
  [
    mshOf('ORU^R01', '09'),
    pidOf(person),
    `OBR|1||${number}^ACME|${code}|||202611200700+0000|||||||||||||||20261120085900+0000||LAB|F`,
    ...observations.map((obx, index) => `OBX|${index + 1}|${obx}`),
  ].join('\r');

/** The record of a person of whom nothing is known but from HL7 v2 messages. */
export async function recordOfMessages(): Promise<Bundle> {
  const environment = await createSenderEnvironment();
  try {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    await environment.send(...messagesOf(person));
    const path = `/fhir/R4/Patient/${patientId}/$everything`;
    return (await environment.account.call('GET', path)).json();
  } finally {
    await environment.gateway.close();
  }
}
