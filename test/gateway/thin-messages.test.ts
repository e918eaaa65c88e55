import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newPerson } from '../support/gateway.ts';
import {
  adtMessage,
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

describe('messages are joined by the numbers that they name', () => {
  const orderOf = (person: Person, hour: string) =>
    [
      mshOf('ORM^O01', hour),
      pidOf(person),
      `ORC|NW|P-${person.lastName}`,
      `OBR|1|P-${person.lastName}||2823-3^Potassium^LN|||||||||||||1234^Doe^Jane`,
    ].join('\r');
  const potassium = 'OBX|1|NM|2823-3^Potassium^LN||5|mmol/L|||||F';
  const answer = (person: Person, status: string) =>
    report(person, { status }, potassium).replace(
      'OBR|1||',
      `OBR|1|P-${person.lastName}|`,
    );
  const order = (person: Person) => orderOf(person, '0800');

  test.each([
    ['an order and its result', 'F', 'completed', [0, 1]],
    ['a result and its order that comes late', 'F', 'completed', [1, 0]],
    ['an order and a result that is preliminary', 'P', 'active', [0, 1]],
    ['an order and a result that was cancelled', 'X', 'revoked', [0, 1]],
  ])('%s', async (_, status, expected, sequence) => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const messages = [order(person), answer(person, status)];
    for (const nth of sequence) await environment.send(messages[nth] ?? '');
    const [request, ...others] = await environment.resources(
      'ServiceRequest',
      patientId,
    );
    expect(request).toMatchObject({ status: expected });
    expect(others).toEqual([]);
    expect(
      await environment.resources('DiagnosticReport', patientId),
    ).toMatchObject([
      { basedOn: [{ reference: `ServiceRequest/${request.id}` }] },
    ]);
  });

  test.each([
    [0, 1],
    [1, 0],
  ])(
    'a susceptibility and the organism of another message (%i before %i)',
    async (first, second) => {
      const person = newPerson();
      const patientId = await environment.addPatient(person);
      const obr = (number: string, code: string, parent = '') =>
        `OBR|1||${number}-${person.lastName}|${code}|||202611200800+0000||||||||||||||||||F${parent}`;
      const messages = [
        [
          mshOf('ORU^R01', '0900'),
          pidOf(person),
          obr('C', '600-7^Culture^LN'),
          'OBX|1|CE|600-7^Organism^LN|1|112283007^E. coli^SCT||||||F',
        ],
        [
          mshOf('ORU^R01', '1000'),
          pidOf(person),
          obr(
            'S',
            '50545-3^Susceptibility^LN',
            `|600-7&Organism&LN^1|||^C-${person.lastName}`,
          ),
          'OBX|1|ST|18906-8^Ciprofloxacin^LN||S|||S|||F',
        ],
      ].map((segments) => segments.join('\r'));
      for (const nth of [first, second])
        await environment.send(messages[nth] ?? '');
      const found = await environment.resources('Observation', patientId);
      const organism = found.find(({ code }) => code.text === 'Organism');
      expect(found).toContainEqual(
        expect.objectContaining({
          code: expect.objectContaining({ text: 'Ciprofloxacin [E. coli]' }),
          derivedFrom: [
            expect.objectContaining({
              reference: `Observation/${organism?.id}`,
            }),
          ],
        }),
      );
    },
  );

  test('a visit number with and without its authority, unless the stays began at different times', async () => {
    const stay =
      (event: string, hour: string, number: string, began: string) =>
      (person: Person) =>
        adtMessage(person, {
          event,
          hour,
          visit: number.replace('V', `V-${person.lastName}`),
          pv1: { 44: began },
        });
    const one = [
      stay('A01', '0800', 'V', '20261119'),
      stay('A03', '0900', 'V^^^MERCY', '20261119'),
    ];
    expect(await recordOf('Encounter', ...one)).toMatchObject([
      { status: 'finished', period: { start: '2026-11-19' } },
    ]);
    const two = [
      stay('A01', '0800', 'V', '20261018'),
      stay('A01', '0900', 'V^^^MERCY', '20261119'),
    ];
    expect(await recordOf('Encounter', ...two)).toHaveLength(2);
  });

  test('two equal fills of one prescription, and the prescription', async () => {
    const person = newPerson();
    const patientId = await environment.addPatient(person);
    const number = `RX-${person.lastName}`;
    const fill = (nth: string) =>
      `RXD|${nth}|161^Acetaminophen^RXNORM|202611200850|30|TAB||${number}`;
    const rde = [
      mshOf('RDE^O11', '0800'),
      pidOf(person),
      `ORC|NW|P-${person.lastName}|${number}`,
      'RXE||161^Acetaminophen^RXNORM|650||mg',
    ];
    const rds = [mshOf('RDS^O13', '0900'), pidOf(person), fill('1'), fill('2')];
    await environment.send(rde.join('\r'), rds.join('\r'));
    const [request] = await environment.resources(
      'MedicationRequest',
      patientId,
    );
    const authorizingPrescription = [
      { reference: `MedicationRequest/${request.id}` },
    ];
    expect(
      await environment.resources('MedicationDispense', patientId),
    ).toMatchObject([{ authorizingPrescription }, { authorizingPrescription }]);
  });
});

test('every place of a stay is kept, in the order of the transfers', async () => {
  const at = (event: string, hour: string, bed: string) => (person: Person) =>
    adtMessage(person, {
      event,
      hour,
      visit: `V-${person.lastName}`,
      pv1: { 3: bed },
    });
  const [encounter] = await recordOf(
    'Encounter',
    at('A01', '0800', 'W1'),
    at('A02', '0900', 'W2'),
    at('A02', '0830', 'W3'),
  );
  expect(
    encounter.location.map(
      ({ location }: { location: { display: string } }) => location.display,
    ),
  ).toEqual(['W1', 'W3', 'W2']);
});

test.each([
  ['A01', 'PV1|1|I|||||||||||||||||VISIT'],
  ['A31', 'PV1|1|N'],
])('height and diagnosis of %s are in the record', async (event, pv1) => {
  const message = (person: Person) =>
    [
      mshOf(`ADT^${event}`, '0900'),
      'EVN||20261120090000+0000',
      pidOf(person),
      pv1.replace('VISIT', `V-${person.lastName}`),
      'OBX|1|NM|8302-2^Body height^LN||172|cm|||||F',
      'DG1|1||I10^Hypertension^I10',
    ].join('\r');
  expect(await recordOf('Observation', message)).toMatchObject([
    { valueQuantity: { value: 172 } },
  ]);
  expect(await recordOf('Condition', message)).toHaveLength(1);
});

test('an order has its diagnoses, and the patient the allergies that came with it', async () => {
  const message = (person: Person) =>
    [
      mshOf('ORM^O01', '0900'),
      pidOf(person),
      'AL1|1|DA|^Iodine|SV|Anaphylaxis',
      `ORC|NW|P-${person.lastName}`,
      `OBR|1|P-${person.lastName}||24627-2^CT chest^LN`,
      'DG1|1||R05^Cough^I10',
    ].join('\r');
  expect(await recordOf('ServiceRequest', message)).toMatchObject([
    { reasonCode: [{ text: 'Cough' }] },
  ]);
  expect(await recordOf('AllergyIntolerance', message)).toMatchObject([
    { code: { text: 'Iodine' } },
  ]);
});
