import { Hl7Field } from '@medplum/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  parseHl7,
  readHl7,
  reportedInHl7,
  UnreadableMessageError,
} from '#hl7v2-to-fhir';
import { presentResources } from '../../../src/exchange/messaging/notifications/rules/present-resources.ts';
import { fhirJson } from '../../../src/lib/written-decimals.ts';

const HEAD = [
  'MSH|^~\\&|LAB|ACME|HUB|X|20261120090000+0000||ORU^R01|m-1|P|2.5.1',
  'PID|||R1^^^ACME^MR||Li^Wei||19800405|F|||1 Main St^^Boston^MA^02108',
];
const OBR =
  'OBR|1||F-1^ACME|51990-0^Panel^LN|||202611200800+0000|||||||||||||||20261120085900+0000||LAB|F';
const message = (...segments: string[]) =>
  parseHl7(Buffer.from([...HEAD, ...segments].join('\r')));
/** Resources of the only report. */
function reported(...segments: string[]) {
  const [subject, ...others] = reportedInHl7(
    message(...segments),
    'UTC',
    'acme',
  );
  expect(others).toEqual([]);
  return subject?.resources ?? [];
}
// biome-ignore lint/suspicious/noExplicitAny: resources of several types
const only = (type: string, resources = [] as readonly { resource: any }[]) =>
  resources.flatMap(({ resource }) =>
    resource.resourceType === type ? [resource] : [],
  );
const observation = (obx: string) => only('Observation', reported(OBR, obx))[0];
const refusal = (...segments: string[]): UnreadableMessageError => {
  try {
    readHl7(message(...segments), 'UTC');
  } catch (error) {
    if (error instanceof UnreadableMessageError) return error;
  }
  throw new Error('It was not refused');
};

describe('a result of an ORU message', () => {
  test('of one of several organisms says of which, and stays one of its own', () => {
    const micro = (...sub: [string, string]) =>
      only(
        'Observation',
        reported(
          OBR,
          `OBX|1|CE|600-7^Organism^LN|${sub[0]}|112283007^E coli^SCT||||||F`,
          `OBX|2|CE|600-7^Organism^LN|${sub[1]}|56415008^Klebsiella^SCT||||||F`,
          `OBX|3|ST|18906-8^Cipro^LN|${sub[0]}|S|||S|||F`,
          `OBX|4|ST|18906-8^Cipro^LN|${sub[1]}|S|||S|||F`,
        ),
      ).map(({ code }) => [code.coding[0].code, code.text]);
    expect(micro('1', '2')).toEqual([
      ['600-7', 'Organism [1]'],
      ['600-7', 'Organism [2]'],
      ['18906-8', 'Cipro [1]'],
      ['18906-8', 'Cipro [2]'],
    ]);
    expect(new Set(micro('1', '1').map(([, text]) => text))).toEqual(
      new Set(['Organism', 'Cipro']),
    );
  });

  test('is of the day that the sender wrote, whatever day that is in UTC', () => {
    const timesOf = (time: string) => {
      const segments = [
        HEAD[0]?.replace('20261120090000+0000', time),
        HEAD[1],
        `OBR|1||F-1^ACME|51990-0^Panel^LN|||${time}|||||||||||||||${time}||LAB|F`,
        'OBX|1|NM|2951-2^Sodium^LN||140|mmol/L|||||F',
      ];
      const [report] = reportedInHl7(
        parseHl7(Buffer.from(segments.join('\r'))),
        'America/New_York',
        'acme',
      );
      const [sodium] = only('Observation', report?.resources);
      return [sodium.effectiveDateTime, sodium.issued];
    };
    const evening = '2026-05-01T22:30:00.000-04:00';
    expect(timesOf('20260501223000')).toEqual([evening, evening]);
    expect(timesOf('20260501003000+0530')[0]).toBe(
      '2026-05-01T00:30:00.000+05:30',
    );
    expect(timesOf('20260501223000+0000')[0]).toBe('2026-05-01T22:30:00.000Z');
  });

  test('keeps code, value, unit, range, flag, times and note', () => {
    const [sodium] = only(
      'Observation',
      reported(
        OBR,
        'OBX|1|NM|2951-2^Sodium^LN^NA^Natrium^L||150.5|mmol/L^^UCUM|136-145|H|||F|||202611200755+0000||^Dr Ada',
        'NTE|1||Repeated',
        'NTE|2||and confirmed',
      ),
    );
    expect(sodium).toMatchObject({
      status: 'final',
      code: {
        coding: [
          { system: 'http://loinc.org', code: '2951-2', display: 'Sodium' },
          { system: 'urn:medical-exchange:sender:acme:codes:L', code: 'NA' },
        ],
      },
      valueQuantity: {
        value: 150.5,
        unit: 'mmol/L',
        system: 'http://unitsofmeasure.org',
        code: 'mmol/L',
      },
      referenceRange: [
        { low: { value: 136 }, high: { value: 145 }, text: '136-145' },
      ],
      interpretation: [{ coding: [{ code: 'H' }] }],
      effectiveDateTime: '2026-11-20T07:55:00.000Z',
      issued: '2026-11-20T08:59:00.000Z',
      note: [{ text: 'Repeated\nand confirmed' }],
    });
  });

  test.each([
    ['NM||<5|', { valueQuantity: { value: 5, comparator: '<', unit: 'u' } }],
    ['NM||.5|', { valueQuantity: { value: 0.5, unit: 'u' } }],
    ['NM||7.|', { valueQuantity: { value: 7, unit: 'u' } }],
    ['NM||1,200|', { valueString: '1,200 u' }],
    ['NM||5^H|', { valueString: '5^H' }],
    ['ST||5.4|', { valueString: '5.4 u' }],
    ['ST||<0.01|', { valueString: '<0.01 u' }],
    ['ST||not done|', { valueString: 'not done' }],
    ['NM||five|', { valueString: 'five' }],
    [
      'SN||>=^90|',
      { valueQuantity: { value: 90, comparator: '>=', unit: 'u' } },
    ],
    [
      'SN||^10^-^20|',
      {
        valueRange: {
          low: { value: 10, unit: 'u' },
          high: { value: 20, unit: 'u' },
        },
      },
    ],
    [
      'SN||^1^:^128|',
      { valueRatio: { numerator: { value: 1 }, denominator: { value: 128 } } },
    ],
    ['SN||^3^+|', { valueString: '3+ u' }],
    [
      'CWE||112283007^E. coli^SCT|',
      { valueCodeableConcept: { text: 'E. coli' } },
    ],
    ['DT||20261119|', { valueDateTime: '2026-11-19' }],
    ['ST||a\\T\\b^c~d|', { valueString: 'a&b^c\nd' }],
    ['ST||""|', {}],
    ['XX||odd^type|', { valueString: 'odd^type' }],
  ])('has its value as what it is, or as text: %s', (field, value) => {
    const [type, sub, text] = field.split('|');
    const read = observation(`OBX|1|${type}|1^T^L|${sub}|${text}|u|||||F`);
    const values = Object.fromEntries(
      Object.entries(read).filter(([name]) => name.startsWith('value')),
    );
    expect(values).toMatchObject(value);
    expect(Object.keys(values)).toEqual(Object.keys(value));
  });

  test.each([
    'NM||.5',
    'NM||1,200',
    'ST||5.4',
    'ST||not done',
    'SN||^3^+',
    'SN||^1^:^8',
    'CWE||N^Negative^L',
    'DT||20261119',
    'NM||5^H',
  ])('never loses its unit: %s', (field) => {
    const read = observation(
      `OBX|1|${field.replace('||', '|1^T^L||')}|ng/mL^nanogram per milliliter^ISO+|||||F`,
    );
    expect(JSON.stringify(read)).toContain('nanogram per milliliter');
    expect(
      JSON.stringify(
        observation(`OBX|1|${field.replace('||', '|1^T^L||')}|ng/mL|||||F`),
      ),
    ).toContain('ng/mL');
  });

  test('of many lines is one text', () => {
    const lines = ['Gross', 'Micro', 'Diagnosis'].map(
      (text, index) => `OBX|${index + 1}|TX|22634-0^Path^LN||${text}||||||F`,
    );
    expect(only('Observation', reported(OBR, ...lines))).toMatchObject([
      { valueString: 'Gross\nMicro\nDiagnosis' },
    ]);
  });

  test('that repeats a code stays two', () => {
    const rows = ['7.1', '7.2'].map(
      (value) => `OBX|1|NM|2339-0^Glucose^LN||${value}|mmol/L|||||F`,
    );
    const all = only('Observation', reported(OBR, ...rows));
    expect(new Set(all.map(({ id }) => id)).size).toBe(2);
  });

  test('that is a file is a document of the report', () => {
    const data = Buffer.from('%PDF-1.4').toString('base64');
    const resources = reported(
      OBR,
      `OBX|1|ED|11502-2^Report^LN||LAB^application^pdf^Base64^${data}||||||F`,
    );
    expect(only('DocumentReference', resources)).toMatchObject([
      {
        status: 'current',
        content: [
          { attachment: { contentType: 'application/pdf', data, size: 8 } },
        ],
        context: { related: [{ reference: 'DiagnosticReport/report' }] },
      },
    ]);
    expect(only('DiagnosticReport', resources)[0].presentedForm).toMatchObject([
      { size: 8 },
    ]);
  });
});

describe('the department of a report', () => {
  const of = (section: string, obx: string) => {
    const resources = reported(OBR.replace('|LAB|F', `|${section}|F`), obx);
    const codes = (type: string) =>
      only(type, resources).map(
        ({ category }) => category?.[0]?.coding?.[0]?.code ?? 'none',
      );
    return [...codes('DiagnosticReport'), ...codes('Observation')];
  };
  const IMPRESSION = 'OBX|1|TX|18782-3^Impression^LN||No acute disease||||||F';
  const GLUCOSE = 'OBX|1|NM|2345-7^Glucose^LN||90|mg/dL|||||F';
  test.each([
    ['RAD', IMPRESSION, ['RAD', 'imaging']],
    ['CT', IMPRESSION, ['CT', 'imaging']],
    ['', IMPRESSION, ['none', 'none']],
    ['PHY', IMPRESSION, ['PHY', 'none']],
    ['SP', IMPRESSION, ['SP', 'laboratory']],
    ['CH', GLUCOSE, ['CH', 'laboratory']],
    ['', GLUCOSE, ['LAB', 'laboratory']],
    [
      '',
      'OBX|1|NM|8867-4^Heart rate^LN||72|/min|||||F',
      ['none', 'vital-signs'],
    ],
    [
      '',
      'OBX|1|NM|2345-7^Glucose^LN||90|mg/dL|||||F\rSPM|1|||BLD^Blood^HL70487',
      ['LAB', 'laboratory'],
    ],
    ['', `${IMPRESSION}\rSPM|1|||TISS^Tissue^HL70487`, ['LAB', 'laboratory']],
  ])('decides its category: %j %s', (section, obx, categories) => {
    expect(of(section, obx)).toEqual(categories);
  });
});

test('a report names who ordered it and who interpreted it', () => {
  const fields = OBR.split('|');
  fields[2] = 'P-7^EHR';
  fields[13] = 'Fasting';
  fields[16] = '1234567893^Lee^Ada^M^^Dr^MD^^NPI~99^Other^One';
  fields[31] = 'R73.9^Hyperglycemia^I10C';
  fields[32] = '55&Roe&Jane&&&Dr&&&HOSP^202611200800';
  const resources = reported(
    [...fields, ''].join('|'),
    'OBX|1|NM|1^T^L||1||||||F',
  );
  expect(only('ServiceRequest', resources)).toMatchObject([
    {
      status: 'completed',
      intent: 'order',
      identifier: [{ value: 'P-7' }],
      requester: {
        type: 'Practitioner',
        identifier: {
          system: 'http://hl7.org/fhir/sid/us-npi',
          value: '1234567893',
        },
        display: 'Dr Ada M Lee MD',
      },
      reasonCode: [{ coding: [{ code: 'R73.9' }] }],
      note: [{ text: 'Fasting' }],
    },
  ]);
  expect(only('DiagnosticReport', resources)).toMatchObject([
    {
      basedOn: [{ reference: 'ServiceRequest/order' }],
      resultsInterpreter: [
        {
          identifier: { value: '55', assigner: { display: 'HOSP' } },
          display: 'Dr Jane Roe',
        },
      ],
    },
  ]);
  fields[32] = '55^Roe^Jane';
  expect(
    only('DiagnosticReport', reported(fields.join('|')))[0]
      .resultsInterpreter[0].display,
  ).toBe('Jane Roe');
});

describe('later messages about a report', () => {
  let sent = 0;
  const version = (...obx: string[]) => ({
    resources: reported(OBR, ...obx),
    isPartial: true,
    at: `2026-11-20T09:00:${String(++sent)}`,
  });
  const NA = 'OBX|1|NM|2951-2^Sodium^LN||';
  const K = 'OBX|2|NM|2823-3^Potassium^LN||4.1|mmol/L|||||F';
  // biome-ignore lint/suspicious/noExplicitAny: resources of several types
  const present = (...versions: ReturnType<typeof version>[]): any[] =>
    presentResources(versions);

  test('change what they contain, and leave the rest', () => {
    const all = present(
      version(`${NA}140|mmol/L|||||F`, K),
      version(`${NA}130|mmol/L|||||C`),
    );
    const results = all.filter(
      ({ resourceType }) => resourceType === 'Observation',
    );
    expect(
      results.map(({ status, valueQuantity }) => [status, valueQuantity.value]),
    ).toEqual([
      ['corrected', 130],
      ['final', 4.1],
    ]);
    expect(all[0].result).toHaveLength(2);
  });

  test('may bring only the status, and the value stays', () => {
    const [, sodium] = present(
      version(`${NA}140|mmol/L|||||P`),
      version(`${NA}||||||U`),
    );
    expect(sodium).toMatchObject({
      status: 'final',
      valueQuantity: { value: 140 },
    });
  });

  const ranks: Record<string, number> = { P: 1, F: 2, C: 3 };
  const kept = (all: ReturnType<typeof present>) =>
    all.flatMap(({ resourceType, valueQuantity }) =>
      resourceType === 'Observation' ? [valueQuantity?.value] : [],
    );

  test('of the same time: a correction counts over a final result, that over a preliminary one, else the last to arrive', () => {
    const sentence = fc.array(fc.constantFrom('P', 'F', 'C'), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(sentence, (statuses) => {
        const versions = statuses.map((status, value) =>
          version(`${NA}${value}|mmol/L|||||${status}`),
        );
        const sameMinute = versions.map((each) => ({
          ...each,
          at: '2026-11-20T09:00',
        }));
        const highest = Math.max(
          ...statuses.map((status) => ranks[status] ?? 0),
        );
        const expected = statuses.findLastIndex(
          (status) => ranks[status] === highest,
        );
        expect(kept(present(...sameMinute))).toEqual([expected]);
      }),
    );
  });

  test('of the same time: a final status without the value again ends with the value, in whatever order', () => {
    const at = '2026-11-20T09:00';
    const value = version(`${NA}140|mmol/L|||||P`);
    const status = version(`${NA}||||||U`);
    for (const order of [
      [value, status],
      [status, value],
      [status, status, value],
    ]) {
      const [, sodium] = present(...order.map((each) => ({ ...each, at })));
      expect(sodium).toMatchObject({
        status: 'final',
        valueQuantity: { value: 140 },
      });
    }
  });

  test('of the same time bring each result as far as any of them did', () => {
    const at = '2026-11-20T09:00';
    const first = version(
      `${NA}140|mmol/L|||||F`,
      K.replace('4.1', '4.0').replace(/F$/, 'P'),
    );
    const second = version(K);
    for (const order of [
      [first, second],
      [second, first],
    ])
      expect(
        kept(present(...order.map((each) => ({ ...each, at })))).sort(),
      ).toEqual([140, 4.1]);
  });

  test.each(['W', 'D'])(
    'take a result back (%s), and with the last one the report',
    (status) => {
      const [report, sodium] = present(
        version(`${NA}140|mmol/L|||||F`),
        version(`${NA}140|mmol/L|||||${status}`),
      );
      expect([report.status, sodium.status]).toEqual([
        'entered-in-error',
        'entered-in-error',
      ]);
      const [standing] = present(
        version(`${NA}140|mmol/L|||||F`, K),
        version(`${NA}140|mmol/L|||||${status}`),
      );
      expect(standing.status).toBe('final');
    },
  );
});

test('each OBR of a message is a result of its own, and one that says nothing yet is none', () => {
  const other = OBR.replace('51990-0^Panel', '58410-2^CBC')
    .replace('|F', '|F')
    .replace(/F$/, 'I');
  const { content } = readHl7(
    message(OBR, 'OBX|1|NM|1^T^L||1||||||F', other),
    'UTC',
  );
  expect(content).toMatchObject({
    kind: 'laboratory',
    items: [
      {
        sourceId: 'F-1^ACME/http://loinc.org|51990-0',
        specimen: '2026-11-20T08:00:00.000Z',
        corrects: false,
        at: '2026-11-20T08:00:00.000Z',
        isTrue: true,
        rank: 2,
      },
      {
        sourceId: 'F-1^ACME/http://loinc.org|58410-2',
        specimen: '2026-11-20T08:00:00.000Z',
        corrects: false,
        at: '2026-11-20T08:00:00.000Z',
        isTrue: false,
        rank: 1,
      },
    ],
  });
});

test('a number without a namespace is that of the application and facility that sent it', () => {
  const keyOf = (msh: string, filler: string) => {
    const text = [
      (HEAD[0] ?? '').replace('|LAB|ACME|', msh),
      HEAD[1],
      OBR.replace('F-1^ACME', filler),
    ].join('\r');
    const { content } = readHl7(parseHl7(Buffer.from(text)), 'UTC');
    return content.kind === 'laboratory'
      ? content.items[0]?.sourceId
      : undefined;
  };
  expect(keyOf('|LAB|ACME|', '1001')).toBe(keyOf('|LAB|ACME|', '1001'));
  expect(keyOf('|LAB|ACME|', '1001')).not.toBe(
    keyOf('|BLOODGAS|ACME|', '1001'),
  );
  expect(keyOf('|LAB|ACME|', '1001')).not.toBe(keyOf('|LAB|EAST|', '1001'));
  expect(keyOf('|LAB|ACME|', '1001^CENTRAL')).toBe(
    keyOf('|BLOODGAS|EAST|', '1001^CENTRAL'),
  );
});

test('a result message without what it needs, or about two patients, is refused by name of the place', () => {
  expect(refusal()).toMatchObject({ place: 'OBR' });
  expect(refusal(OBR.replace('F-1^ACME', ''))).toMatchObject({
    place: 'OBR-3',
  });
  expect(refusal(OBR.replace('51990-0^Panel^LN', ''))).toMatchObject({
    place: 'OBR-4',
  });
  expect(refusal(OBR, 'OBX|1|NM|||1||||||F')).toMatchObject({ place: 'OBX-3' });
  expect(refusal(OBR, HEAD[1] ?? '')).toMatchObject({
    kind: 'invalid',
    place: 'PID',
  });
});

test('a result says how and where it was measured, by whom, and whether its specimen was fit for it', () => {
  const resources = reported(
    OBR,
    'OBX|1|NM|2823-3^Potassium^LN||6.9|mmol/L|||||F|||||7^Okoye^Ada|ISE^Ion-selective electrode^L|||LA^Left arm^L',
    'SPM|1|S-1||BLD^Blood^HL70487||||LA^Left arm^L||||||Drawn with difficulty|||20261120074500|20261120080500|||QNS^Not enough^L|||AUT^^L~HEM^Hemolyzed^HL70493',
  );
  expect(only('Observation', resources)[0]).toMatchObject({
    method: { text: 'Ion-selective electrode' },
    bodySite: { text: 'Left arm' },
    performer: [{ display: 'Ada Okoye' }],
  });
  expect(only('Specimen', resources)[0]).toMatchObject({
    type: { text: 'Blood' },
    identifier: [{ value: 'S-1' }],
    collection: {
      collectedDateTime: '2026-11-20T07:45:00.000Z',
      bodySite: { text: 'Left arm' },
    },
    receivedTime: '2026-11-20T08:05:00.000Z',
    condition: [
      { coding: [{ code: 'AUT' }] },
      { text: 'Hemolyzed' },
      { text: 'Not enough' },
    ],
    note: [{ text: 'Drawn with difficulty' }],
  });
});

test('an observation before the first report is kept with it', () => {
  const resources = reported(
    'OBX|1|NM|29463-7^Weight^LN||70|kg|||||F',
    'NTE|1||In clothes',
    OBR,
  );
  expect(only('Observation', resources)).toMatchObject([
    { code: { text: 'Weight' }, note: [{ text: 'In clothes' }] },
  ]);
});

test('results that are sent by specimen belong to it, each to its own', () => {
  const text = [
    (HEAD[0] ?? '').replace('ORU^R01', 'OUL^R22'),
    HEAD[1],
    'SPM|1|S-1||BLD^Blood^L',
    'OBX|1|ST|HEM^Hemolysis^L||none||||||F',
    OBR,
    'OBX|1|NM|2823-3^Potassium^LN||4.1|mmol/L|||||F',
    'SPM|2|S-2||UR^Urine^L',
    OBR.replace('F-1', 'F-2'),
    'OBX|1|NM|2888-6^Protein^LN||5|mg/dL|||||F',
  ].join('\r');
  const parsed = parseHl7(Buffer.from(text));
  expect(readHl7(parsed, 'UTC')).toMatchObject({
    trigger: 'R22',
    content: { kind: 'laboratory' },
  });
  const [blood, urine] = reportedInHl7(parsed, 'UTC', 'acme').map(
    ({ resources }) => resources,
  );
  expect(only('Specimen', blood)[0].type.text).toBe('Blood');
  expect(only('Observation', blood).map(({ code }) => code.text)).toEqual([
    'Hemolysis',
    'Potassium',
  ]);
  expect(only('Specimen', urine)[0].type.text).toBe('Urine');
  expect(only('Observation', urine)).toHaveLength(1);
});

test('a dispense is a fill with its drug, amount, day and instructions', () => {
  const text = [
    (HEAD[0] ?? '').replace('ORU^R01', 'RDS^O13'),
    HEAD[1],
    'ORC|RE||RX-1',
    'RXE||308182^Amoxicillin^RXNORM|500||mg||^One capsule three times a day',
    'RXD|2|308182^Amoxicillin 500 mg^RXNORM|20261120|30|EA^capsule||RX-1||Take with food',
    'RXR|PO^Oral^HL70162',
  ].join('\r');
  const parsed = parseHl7(Buffer.from(text));
  expect(readHl7(parsed, 'UTC').content).toMatchObject({
    kind: 'pharmacy',
    items: [
      {
        sourceId: 'RX-1^@LAB|ACME#2',
        at: '2026-11-20T00:00:00.000Z',
        isTrue: true,
      },
    ],
  });
  const [fill] = reportedInHl7(parsed, 'UTC', 'rx');
  expect(fill?.resources[0]?.resource).toMatchObject({
    resourceType: 'MedicationDispense',
    status: 'completed',
    medicationCodeableConcept: { coding: [{ code: '308182' }] },
    quantity: { value: 30, unit: 'capsule' },
    whenHandedOver: '2026-11-20',
    dosageInstruction: [
      { text: 'One capsule three times a day', route: { text: 'Oral' } },
    ],
    note: [{ text: 'Take with food' }],
  });
  expect(fhirJson(fill?.resources[0]?.resource ?? {})).toContain(
    '"doseQuantity":{"value":500,"unit":"mg"}',
  );
  const cancelled = parseHl7(Buffer.from(text.replace('ORC|RE', 'ORC|CR')));
  expect(readHl7(cancelled, 'UTC').content).toMatchObject({
    items: [{ isTrue: false }],
  });
});

describe('our reader agrees with that of @medplum/core', () => {
  const character = fc.constantFrom(...'aZ9 é^~&\\|.'.split(''));
  const text = fc.string({ unit: character, minLength: 1, maxLength: 12 });
  const escaped = (value: string) =>
    value.replaceAll(
      /[\\|^~&]/g,
      (sign) =>
        `\\${{ '\\': 'E', '|': 'F', '^': 'S', '~': 'R', '&': 'T' }[sign]}\\`,
    );
  const trimmed = (value: string | undefined) =>
    value?.trim() === '' ? undefined : value?.trim();

  test('on repetitions, components and subcomponents', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.array(fc.array(text, { minLength: 1, maxLength: 3 }), {
            minLength: 1,
            maxLength: 4,
          }),
          {
            minLength: 1,
            maxLength: 4,
          },
        ),
        (repetitions) => {
          const raw = repetitions
            .map((parts) =>
              parts.map((part) => part.map(escaped).join('&')).join('^'),
            )
            .join('~');
          const ours =
            message(`PD1|${raw}`).segment('PD1')?.repetitions(1) ?? [];
          const theirs = Hl7Field.parse(raw);
          repetitions.forEach((parts, repetition) => {
            parts.forEach((part, component) => {
              part.forEach((value, subcomponent) => {
                const read = ours[repetition]?.(
                  component + 1,
                  subcomponent + 1,
                );
                expect(read).toBe(trimmed(value));
                // Theirs leaves escape sequences as they are.
                const raw = theirs.getComponent(
                  component + 1,
                  subcomponent,
                  repetition,
                );
                expect(trimmed(raw)).toBe(trimmed(escaped(value)));
              });
            });
          });
        },
      ),
    );
  });
});
