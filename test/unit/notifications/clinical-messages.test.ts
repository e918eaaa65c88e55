import { describe, expect, test } from 'vitest';
import { parseHl7, readHl7, reportedInHl7 } from '#hl7v2-to-fhir';
import { messagesIn } from '../../../src/exchange/messaging/notifications/hl7v2/respond.ts';
import { fhirJson } from '../../../src/lib/written-decimals.ts';

const message = (type: string, ...segments: string[]) =>
  parseHl7(
    Buffer.from(
      [
        `MSH|^~\\&|EHR|ACME|HUB|X|20261120090000+0000||${type}|m-1|P|2.5.1`,
        'PID|||R1^^^ACME^MR||Li^Wei||19800405|F|||1 Main St^^Boston^MA^02108',
        ...segments,
      ].join('\r'),
    ),
  );
function reported(type: string, ...segments: string[]) {
  const parsed = message(type, ...segments);
  const { content } = readHl7(parsed, 'UTC');
  const subjects = reportedInHl7(parsed, 'UTC', 'acme');
  expect(
    content.kind === 'clinical' &&
      content.items.map(({ sourceId }) => sourceId),
  ).toEqual(subjects.map(({ sourceId }) => sourceId));
  return subjects.flatMap(({ sourceId, resources }) =>
    resources.map((each) => ({
      sourceId,
      isStatusOnly: each.isStatusOnly,
      // biome-ignore lint/suspicious/noExplicitAny: resources of several types
      resource: each.resource as any,
    })),
  );
}

describe('a VXU message', () => {
  const ORC = 'ORC|RE||V-1^REG';
  const RXA =
    'RXA|0|1|20261101||140^Influenza^CVX|0.50|mL^milliliter^UCUM||00^New^NIP001|12^Lee^Ada|||||LOT7|20270630|SKB^Glaxo^MVX|||CP|A';
  test('is a vaccination with dose, lot, maker, route and who gave it', () => {
    const [vaccination, other] = reported(
      'VXU^V04',
      ORC,
      RXA,
      'RXR|IM^Intramuscular^HL70162|LD^Left deltoid^HL70163',
      'ORC|RE||9999',
      'RXA|0|1|20200101||03^MMR^CVX|999||||||||||||00^Refused^NIP002||RE|A',
    );
    expect(vaccination).toMatchObject({
      sourceId: 'Immunization/V-1^REG/140',
      resource: {
        status: 'completed',
        patient: { reference: 'Patient/person' },
        vaccineCode: {
          coding: [{ system: 'http://hl7.org/fhir/sid/cvx', code: '140' }],
        },
        occurrenceDateTime: '2026-11-01',
        primarySource: true,
        lotNumber: 'LOT7',
        expirationDate: '2027-06-30',
        manufacturer: { display: 'Glaxo' },
        route: { text: 'Intramuscular' },
        site: { text: 'Left deltoid' },
        performer: [{ actor: { display: 'Ada Lee' } }],
      },
    });
    expect(vaccination?.resource.occurrenceString).toBeUndefined();
    expect(fhirJson(vaccination?.resource.doseQuantity)).toBe(
      '{"value":0.50,"unit":"milliliter"}',
    );
    expect(other).toMatchObject({
      sourceId: expect.stringMatching(/^Immunization\/20200101 of .+\/03$/),
      resource: { status: 'not-done' },
    });
    expect(other?.resource).not.toHaveProperty('doseQuantity');
  });
  test('without an order number is one for each person: many are vaccinated with one vaccine on one day', () => {
    const idFor = (record: string) => {
      const text = [
        'MSH|^~\\&|EHR|ACME|HUB|X|20261120090000+0000||VXU^V04|m-1|P|2.5.1',
        `PID|||${record}||Li^Wei||19800405`,
        'ORC|RE||9999',
        RXA,
      ].join('\r');
      const { content } = readHl7(parseHl7(Buffer.from(text)), 'UTC');
      return content.kind === 'clinical'
        ? content.items[0]?.sourceId
        : undefined;
    };
    expect(idFor('R1^^^ACME^MR')).toBe(idFor('R1^^^ACME^MR'));
    expect(idFor('R1^^^ACME^MR')).not.toBe(idFor('R2^^^ACME^MR'));
    expect(() => idFor('')).toThrow('PID-3 is required');
  });
  test('is taken back by its action code, and without a vaccine says nothing', () => {
    expect(
      reported('VXU^V04', ORC, RXA.replace('|CP|A', '|CP|D'))[0]?.resource
        .status,
    ).toBe('entered-in-error');
    expect(
      reported('VXU^V04', ORC, RXA.replace('140^Influenza', '998^None')),
    ).toEqual([]);
    expect(() => readHl7(message('VXU^V04', ORC), 'UTC')).toThrow(
      'RXA is required: the vaccination',
    );
  });
});

describe('an MDM message', () => {
  const txa = (fields: Record<number, string>) =>
    [
      'TXA',
      ...Array.from(
        { length: 19 },
        (_, index) =>
          ({
            2: 'DS^Discharge summary^L',
            4: '202611200800+0000',
            9: '12^Lee^Ada',
            12: 'D-1^EHR',
            17: 'AU',
            ...fields,
          })[index + 1] ?? '',
      ),
    ].join('|');
  test('is a document, its lines one file', () => {
    const [document] = reported(
      'MDM^T02',
      txa({ 18: 'R' }),
      'OBX|1|TX|||Seen today',
      'OBX|2|TX|||and well',
    );
    expect(document).toMatchObject({
      sourceId: 'DocumentReference/D-1^EHR',
      isStatusOnly: undefined,
      resource: {
        status: 'current',
        docStatus: 'final',
        type: { text: 'Discharge summary' },
        author: [{ display: 'Ada Lee' }],
        securityLabel: [{ coding: [{ code: 'R' }] }],
        content: [
          {
            attachment: {
              data: Buffer.from('Seen today\nand well').toString('base64'),
            },
          },
        ],
      },
    });
  });
  test('of a replacement supersedes the one before, and one that is cancelled was an error', () => {
    const [own, before] = reported(
      'MDM^T10',
      txa({ 12: 'D-2^EHR', 13: 'D-1^EHR' }),
      'OBX|1|TX|||Better',
    );
    expect(own?.resource.relatesTo).toMatchObject([{ code: 'replaces' }]);
    expect(before).toMatchObject({
      sourceId: 'DocumentReference/D-1^EHR',
      isStatusOnly: true,
      resource: { status: 'superseded' },
    });
    expect(reported('MDM^T11', txa({}))).toMatchObject([
      { isStatusOnly: true, resource: { status: 'entered-in-error' } },
    ]);
  });
});

test('an SIU message is an appointment with its time, people and place', () => {
  const SCH =
    'SCH|P-1|A-1^EHR|||||CHK^Check-up^L|FU^Follow-up^L|30|MIN|^^^202612010900+0000||||||||||||||Booked';
  const [appointment] = reported(
    'SIU^S12',
    SCH,
    'AIS|1||CONS^Consultation^L',
    'AIL|1||ROOM^7',
    'AIP|1||12^Lee^Ada',
  );
  expect(appointment).toMatchObject({
    sourceId: 'Appointment/A-1^EHR',
    resource: {
      status: 'booked',
      start: '2026-12-01T09:00:00.000Z',
      end: '2026-12-01T09:30:00.000Z',
      serviceType: [{ text: 'Consultation' }],
      participant: [
        { actor: { reference: 'Patient/person' } },
        { actor: { display: 'Ada Lee' } },
        { actor: { display: 'ROOM-7' } },
      ],
    },
  });
  expect(reported('SIU^S15', SCH)[0]?.resource.status).toBe('cancelled');
  expect(
    reported('SIU^S12', SCH.replace('0900+0000', '2345-0500'))[0]?.resource,
  ).toMatchObject({
    start: '2026-12-01T23:45:00.000-05:00',
    end: '2026-12-02T00:15:00.000-05:00',
  });
  expect(
    reported('SIU^S26', SCH.replace('|30|MIN', '||'))[0]?.resource,
  ).toMatchObject({
    status: 'noshow',
    requestedPeriod: [{ start: '2026-12-01T09:00:00.000Z' }],
  });
});

test.each(['ORM^O01', 'OML^O21'])(
  'an order (%s) is known by number and code, and can be cancelled',
  (type) => {
    const OBR =
      'OBR|1|P-7^EHR||2345-7^Glucose^LN|||||||||Fasting|||12^Lee^Ada||||||||||||||R73.9^High^I10C';
    const [order] = reported(
      type,
      'ORC|NW|P-7^EHR|||||^^^^^S||202611200700+0000',
      OBR,
      'NTE|1||By noon',
    );
    expect(order).toMatchObject({
      sourceId: 'ServiceRequest/P-7^EHR/2345-7',
      resource: {
        status: 'active',
        priority: 'stat',
        requester: { display: 'Ada Lee' },
        authoredOn: '2026-11-20T07:00:00.000Z',
        note: [{ text: 'Fasting\nBy noon' }],
      },
    });
    expect(reported(type, 'ORC|CA|P-7^EHR', OBR)[0]?.resource.status).toBe(
      'revoked',
    );
  },
);

test('an RDE message is a prescription', () => {
  const [prescription] = reported(
    'RDE^O11',
    'ORC|NW|RX-1^EHR',
    'RXE||308182^Amoxicillin^RXNORM|500||mg||^One three times a day|||30|EA^capsule|2|12^Lee^Ada',
    'RXR|PO^Oral^HL70162',
  );
  expect(prescription?.resource).toMatchObject({
    status: 'active',
    intent: 'order',
    medicationCodeableConcept: { coding: [{ code: '308182' }] },
    dosageInstruction: [
      { text: 'One three times a day', route: { text: 'Oral' } },
    ],
    dispenseRequest: {
      quantity: { value: 30, unit: 'capsule' },
      numberOfRepeatsAllowed: 2,
    },
  });
});

const REQUESTED = [
  'TQ1|1||QID',
  'RXO|161^Acetaminophen^RXNORM|1|2|tab^tablet||^for pain^L|^1 or 2 tablets||||20|tab^tablet|1',
  'RXR|PO^Oral^HL70162',
];

test('what was replaced has ended, and what replaces it goes on', () => {
  const drug = 'RXE||860975^Metformin^RXNORM|500||mg';
  const test = (number: string) => `OBR|1|${number}||2345-7^Glucose^LN`;
  for (const control of ['RU', 'RQ']) {
    const drugs = reported(
      'RDE^O11',
      `ORC|${control}|P-1^EHR`,
      drug,
      'ORC|RO|P-2^EHR',
      drug,
    );
    expect(drugs.map(({ resource }) => resource.status)).toEqual([
      'stopped',
      'active',
    ]);
    const orders = reported(
      'ORM^O01',
      `ORC|${control}|P-1^EHR`,
      test('P-1^EHR'),
      'ORC|RO|P-2^EHR',
      test('P-2^EHR'),
    );
    expect(orders.map(({ resource }) => resource.status)).toEqual([
      'revoked',
      'active',
    ]);
  }
});

describe('a prescription keeps how much of the drug is taken, how, when and what it is made of', () => {
  const [prescription] = reported(
    'RDE^O11',
    'ORC|NW|R-2|||||||20261119',
    ...REQUESTED,
    'RXE||313002^Nicardipine 0.2 mg/mL^RXNORM|5|15|mg/h^mg/hr||Titrate slowly~^Call if ineffective|||||||||||||||||||Keep dark|^25|mL/h',
    'TQ1|1||Q8H||||20261120|20261127|A|if above 180|With food',
    'RXR|IV^Intravenous^HL70162|LA^Left arm^HL70163',
    'RXC|B|^Sodium chloride 0.9 %|200|mL',
    'RXC|A|^Nicardipine|40|mg',
  );
  test('of what was encoded, not of what had been asked for', () => {
    expect(prescription?.resource).toMatchObject({
      priority: 'asap',
      dosageInstruction: [
        {
          text: 'Titrate slowly; Call if ineffective; With food',
          timing: {
            code: { text: 'Q8H' },
            repeat: {
              boundsPeriod: { start: '2026-11-20', end: '2026-11-27' },
            },
          },
          additionalInstruction: [{ text: 'if above 180' }],
          route: { text: 'Intravenous' },
          site: { text: 'Left arm' },
        },
      ],
      note: [
        { text: 'Base: Sodium chloride 0.9 %, 200 mL' },
        { text: 'Additive: Nicardipine, 40 mg' },
      ],
    });
    expect(
      fhirJson(prescription?.resource.dosageInstruction[0].doseAndRate),
    ).toContain(
      '"doseRange":{"low":{"value":5,"unit":"mg/hr"},"high":{"value":15,"unit":"mg/hr"}}',
    );
  });
  test.each(['OMP^O09', 'ORM^O01'])(
    'also when only the request is sent, as %s',
    (type) => {
      const [order] = reported(type, 'ORC|NW|R-3', ...REQUESTED);
      expect(order).toMatchObject({
        sourceId: expect.stringContaining('MedicationRequest/R-3^'),
        resource: {
          medicationCodeableConcept: { text: 'Acetaminophen' },
          dosageInstruction: [
            {
              text: '1 or 2 tablets; for pain',
              timing: { code: { text: 'QID' } },
            },
          ],
        },
      });
      expect(fhirJson(order?.resource)).toContain(
        '"high":{"value":2,"unit":"tablet"}',
      );
    },
  );
});

test('a measured value in the text of a document stands beside what it is a value of', () => {
  const [document] = reported(
    'MDM^T02',
    'TXA|1|DS^Summary^L||||||||||D-9^EHR',
    'OBX|1|TX|||Seen today',
    'OBX|2|NM|29463-7^Weight^LN||70.5|kg',
  );
  const file = document?.resource.content[0].attachment.data ?? '';
  expect(Buffer.from(file, 'base64').toString()).toBe(
    'Seen today\nWeight: 70.5 kg',
  );
});

test('the time of an appointment is that of TQ1, which replaces the older one', () => {
  const [appointment] = reported(
    'SIU^S12',
    'SCH||A-9|||||||||^^^202501010900+0000',
    'TQ1|||||||202612010900+0000|202612010930+0000',
  );
  expect(appointment?.resource).toMatchObject({
    start: '2026-12-01T09:00:00.000Z',
    end: '2026-12-01T09:30:00.000Z',
  });
});

test('general and laboratory orders of other kinds are orders', () => {
  for (const type of ['OMG^O19', 'OML^O33'])
    expect(
      reported(type, 'ORC|NW|P-1', 'OBR|1|P-1||2345-7^Glucose^LN')[0]?.resource
        .code.text,
    ).toBe('Glucose');
});

test('what a message contains and is not used is named, never by its value', () => {
  const parsed = message(
    'SIU^S12',
    'SCH||A-1^EHR|||||||||^^^202612010900||||||||Secret Contact||||||Booked',
    'NK1|1|Doe^Jane',
    'Jane Doe|x',
  );
  const { unused } = readHl7(parsed, 'UTC');
  expect(unused).toEqual(['NK1', 'SCH-19']);
});

describe('a batch', () => {
  const one = 'MSH|^~\\&|A|B|||1||ADT^A01|1|P|2.5\rPID|1';
  const two = one.replace('|1|P', '|2|P');
  test.each([
    [`FHS|^~\\&\rBHS|^~\\&\r${one}\r${two}\rBTS|2\rFTS|1\r`, [`${one}\r`, two]],
    [`\u000bBHS|^~\\&\r${one}\rBTS|1\r\u001c\r`, [one]],
    [`${one}\r${two}\r`, [`${one}\r`, `${two}\r`]],
    [one, [one]],
    ['hello', ['hello']],
  ])('is taken apart: %j', (bytes, messages) => {
    expect(messagesIn(Buffer.from(bytes)).map(String)).toEqual(messages);
  });
});
