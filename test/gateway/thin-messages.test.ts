import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPerson } from '../support/gateway.ts';
import {
  createSenderEnvironment,
  mshOf,
  type Person,
  pidOf,
} from '../support/senders.ts';

let environment: Awaited<ReturnType<typeof createSenderEnvironment>>;
beforeAll(async () => {
  environment = await createSenderEnvironment();
});
afterAll(() => environment.gateway.close());

/** The report of a person, with this status (OBR-25) and segments after OBR. */
const report = (
  person: Person,
  { status, minute = '0900' }: { status: string; minute?: string },
  ...segments: string[]
): string => {
  const obr = `OBR|1||F-${person.lastName}^ACME|2823-3^Potassium^LN|||202611200800+0000|||||||||||||||202611200859+0000||CH|${status}`;
  return [mshOf('ORU^R01', minute), pidOf(person), obr, ...segments].join('\r');
};
/** Sends messages about a new person, and returns what the record has. */
async function recordOf(
  type: string,
  ...messages: ((person: Person) => string)[]
) {
  const person = newPerson();
  const patientId = await environment.addPatient(person);
  await environment.send(...messages.map((message) => message(person)));
  return environment.resources(type, patientId);
}

describe('a report without a result (OBX) is in the record', () => {
  test('with the text of its notes', async () => {
    const note = 'NTE|1|L|FINAL DIAGNOSIS: carcinoma';
    expect(
      await recordOf('DiagnosticReport', (person) =>
        report(person, { status: 'F' }, note),
      ),
    ).toMatchObject([
      { status: 'final', conclusion: 'FINAL DIAGNOSIS: carcinoma' },
    ]);
  });

  test.each([
    ['X', 'cancelled'],
    ['I', 'registered'],
    ['F', 'final'],
  ])('as %s says', async (status, expected) => {
    expect(
      await recordOf('DiagnosticReport', (person) =>
        report(person, { status }),
      ),
    ).toMatchObject([{ status: expected }]);
  });

  test('and cancels what was preliminary', async () => {
    const potassium = 'OBX|1|NM|2823-3^Potassium^LN||5|mmol/L|||||P';
    expect(
      await recordOf(
        'Observation',
        (person) => report(person, { status: 'P' }, potassium),
        (person) => report(person, { status: 'X', minute: '1000' }),
      ),
    ).toMatchObject([{ status: 'cancelled', valueQuantity: { value: 5 } }]);
  });
});

describe('allergies outside a stay are in the record', () => {
  const penicillin = 'AL1|1|DA|7980^Penicillin^RXNORM|SV|Hives';
  const latex = 'IAM|1|LA|1^Latex^L|SV|Wheezing|A';
  const adt = (event: string, pv1: string) => (person: Person) =>
    [
      mshOf(`ADT^${event}`, '0900'),
      'EVN||20261120090000+0000',
      pidOf(person),
      pv1.replace('VISIT', `V-${person.lastName}`),
      penicillin,
      latex,
    ].join('\r');

  test.each([
    ['A28', 'PV1|1|N'],
    ['A31', 'PV1|1|N'],
    ['A60', 'PV1|1|N'],
    ['A04', 'PV1|1|O|||||||||||||||||VISIT'],
    ['A05', 'PV1|1|P|||||||||||||||||VISIT'],
  ])('of %s', async (event, pv1) => {
    const allergies = await recordOf('AllergyIntolerance', adt(event, pv1));
    const names = allergies.map(({ code }) => code.text);
    expect(names.sort()).toEqual(['Latex', 'Penicillin']);
  });

  test('but nothing of a pre-admission that was only planned', async () => {
    const planned = (person: Person) =>
      `${adt('A05', 'PV1|1|P|||||||||||||||||VISIT')(person)}\rPR1|1||1^Excision^L`;
    expect(await recordOf('Procedure', planned)).toEqual([]);
    expect(await recordOf('Encounter', planned)).toEqual([]);
  });
});

test('each step of a taper is a dosage of the prescription', async () => {
  const taper = (person: Person) =>
    [
      mshOf('RDE^O11', '0900'),
      pidOf(person),
      `ORC|NW|O-${person.lastName}`,
      'TQ1|1|40^mg|QD||||20261120|20261122',
      'TQ1|2|20^mg|QD||||20261123|20261125',
      'RXE||8640^Prednisone^RXNORM|40||mg',
    ].join('\r');
  const dose = (value: number, start: string) => ({
    timing: { repeat: { boundsPeriod: { start } } },
    doseAndRate: [{ doseQuantity: { value, unit: 'mg' } }],
  });
  expect(await recordOf('MedicationRequest', taper)).toMatchObject([
    { dosageInstruction: [dose(40, '2026-11-20'), dose(20, '2026-11-23')] },
  ]);
});

test('what is observed with a vaccination, or instead of one, is in the record', async () => {
  const vaccination = (rxa: string, obx: string) => (person: Person) =>
    [
      mshOf('VXU^V04', '0900'),
      pidOf(person),
      'ORC|RE||9999',
      rxa,
      obx,
      'OBX|2|CE|64994-7^Eligibility^LN|1|V02^Medicaid^L||||||F',
    ].join('\r');
  const reaction = vaccination(
    'RXA|0|1|20261120||08^HepB^CVX|0.5|mL',
    'OBX|1|CE|31044-1^Reaction^LN|1|39579001^Anaphylaxis^SCT||||||F',
  );
  expect(await recordOf('Observation', reaction)).toMatchObject([
    { valueCodeableConcept: { text: 'Anaphylaxis' } },
  ]);
  expect(await recordOf('Immunization', reaction)).toMatchObject([
    {
      reaction: [
        { detail: { reference: expect.stringMatching(/^Observation\//) } },
      ],
    },
  ]);
  const immunity = vaccination(
    'RXA|0|1|20261120||998^none^CVX|999',
    'OBX|1|CE|59784-9^Disease with presumed immunity^LN|1|38907003^Varicella^SCT||||||F',
  );
  expect(await recordOf('Observation', immunity)).toMatchObject([
    { valueCodeableConcept: { text: 'Varicella' } },
  ]);
  expect(await recordOf('Immunization', immunity)).toEqual([]);
});

test('susceptibilities name their organism, and refer to it in its own report', async () => {
  const micro = (person: Person) => {
    const number = `F-${person.lastName}`;
    const obr = (nth: number, code: string, parent = '') =>
      `OBR|${nth}||${number}-${nth}|${code}|||202611200800+0000||||||||BLD&Blood&L^^^LA&Left arm&L||||||||||F${parent}`;
    const susceptibility = (nth: number, subId: string, result: string) => [
      obr(
        nth,
        '50545-3^Susceptibility^LN',
        `|600-7&Organism&LN^${subId}|||^${number}-1`,
      ),
      `OBX|1|ST|18906-8^Ciprofloxacin^LN||${result}|||${result}|||F`,
    ];
    return [
      mshOf('ORU^R01', '0900'),
      pidOf(person),
      obr(1, '600-7^Culture^LN'),
      'OBX|1|CE|600-7^Organism^LN|1|112283007^E. coli^SCT||||||F',
      'OBX|2|CE|600-7^Organism^LN|2|56415008^Klebsiella^SCT||||||F',
      ...susceptibility(2, '1', 'S'),
      ...susceptibility(3, '2', 'R'),
    ].join('\r');
  };
  const observations = await recordOf('Observation', micro);
  const named = (text: string) =>
    observations.find(({ code }) => code.text === text);
  expect(observations).toHaveLength(4);
  expect([
    named('Ciprofloxacin [E. coli]'),
    named('Ciprofloxacin [Klebsiella]'),
  ]).toMatchObject([
    {
      valueString: 'S',
      derivedFrom: [{ reference: `Observation/${named('Organism [1]')?.id}` }],
    },
    {
      valueString: 'R',
      derivedFrom: [{ reference: `Observation/${named('Organism [2]')?.id}` }],
    },
  ]);
  expect(await recordOf('Specimen', micro)).toMatchObject(
    expect.arrayContaining([
      expect.objectContaining({
        type: expect.objectContaining({ text: 'Blood' }),
        collection: expect.objectContaining({
          bodySite: expect.objectContaining({ text: 'Left arm' }),
        }),
      }),
    ]),
  );
});
