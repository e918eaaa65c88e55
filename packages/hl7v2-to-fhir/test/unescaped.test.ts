import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseHl7, readHl7, reportedInHl7 } from '../src/index.ts';

const headOf = (type: string) => [
  `MSH|^~\\&|LAB|ACME|HUB|X|20261120090000+0000||${type}|m-1|P|2.5.1`,
  'PID|||R1^^^ACME^MR||Li^Wei||19800405|F|||1 Main St^^Boston^MA^02108',
];
const OBR = 'OBR|1||F-1^ACME|51990-0^Panel^LN|||202611200800+0000';
const messageOf = (type: string, ...segments: string[]) =>
  parseHl7(Buffer.from([...headOf(type), ...segments].join('\r')));
function read(type: string, ...segments: string[]) {
  const resources = reportedInHl7(
    messageOf(type, ...segments),
    'UTC',
    'acme',
  ).flatMap((subject) => subject.resources.map(({ resource }) => resource));
  const { unused } = readHl7(messageOf(type, ...segments), 'UTC');
  return { resources, unused };
}
/** The only result of a report, and what was counted. */
function result(obx: string) {
  const { resources, unused } = read('ORU^R01', OBR, obx);
  const { 1: observation } = resources;
  return { observation, unused };
}

describe('what a sender does not escape is read as it was meant, and counted', () => {
  test.each([
    '10^9/L',
    'x10^3/uL',
    '10^12/L',
    '10^3/mm^3',
    'mL/min/1.73m^2',
    'kg/m^2',
  ])('in a unit: %s', (unit) => {
    const { observation, unused } = result(`OBX|1|NM|1^T^L||5.5|${unit}`);
    expect(observation).toMatchObject({ valueQuantity: { value: 5.5, unit } });
    expect(unused).toEqual(['OBX-6 repaired']);
  });

  test('in a text of several lines, in a result and in a note', () => {
    const { observation, unused } = result(
      'OBX|1|FT|1^T^L||Findings:\nMass of 4 cm\nMRI\nNode||||||F\rNTE|1||one\ntwo',
    );
    expect(observation).toMatchObject({
      status: 'final',
      valueString: 'Findings:\nMass of 4 cm\nMRI\nNode',
      note: [{ text: 'one\ntwo' }],
    });
    expect(unused).toEqual(['NTE-3 repaired', 'OBX-5 repaired']);
  });

  test('in directions and names', () => {
    const text = 'Take 1 tablet in the morning & 2 tablets at night';
    const { resources } = read(
      'RDE^O11',
      'ORC|NW|O-1',
      `RXE||1^Salt & water^L|1||TAB||${text}`,
    );
    expect(resources).toMatchObject([
      {
        medicationCodeableConcept: { text: 'Salt & water' },
        dosageInstruction: [{ text }],
      },
    ]);
  });

  test.each(['^^^Base64^JVBERi0xLjQK', 'PDF^Base64^JVBERi0xLjQK'])(
    'in a file without its type: %s',
    (field) => {
      for (const type of ['ED', 'TX', '']) {
        const { observation } = result(`OBX|1|${type}|1^T^L||${field}||||||F`);
        expect(observation).toMatchObject({
          resourceType: 'DocumentReference',
          content: [
            {
              attachment: {
                contentType: 'application/pdf',
                data: 'JVBERi0xLjQK',
              },
            },
          ],
        });
      }
    },
  );

  test('in a document, whose other lines stay its text', () => {
    const { resources } = read(
      'MDM^T02',
      'TXA|1|CN|TX|||||||||D-1^ACME',
      'OBX|1|TX|1^T^L||PDF^Base64^JVBERi0xLjQK||||||F',
      'OBX|2|ED|1^T^L||Nothing that is a file||||||F',
    );
    const text = Buffer.from('Nothing that is a file').toString('base64');
    expect(resources).toMatchObject([
      {
        content: [
          { attachment: { data: 'JVBERi0xLjQK' } },
          { attachment: { data: text } },
        ],
      },
    ]);
  });

  test('never in a text that only resembles a file', () => {
    const { observation } = result('OBX|1|TX|1^T^L||PDF^Base64^Nothing');
    expect(observation).toMatchObject({ valueString: 'PDF^Base64^Nothing' });
  });
});

test('the UCUM code of a unit counts, wherever it stands', () => {
  const { observation } = result(
    'OBX|1|NM|1^T^L||5|MMOLL^mmol per litre^L^mmol/L^^UCUM',
  );
  expect(observation).toMatchObject({
    valueQuantity: {
      unit: 'mmol per litre',
      system: 'http://unitsofmeasure.org',
      code: 'mmol/L',
    },
  });
});

test('a range whose bounds are in the wrong order is text, and counted', () => {
  const { observation, unused } = result('OBX|1|NM|1^T^L||5|g|5-3');
  expect(observation).toMatchObject({ referenceRange: [{ text: '5-3' }] });
  expect(observation).not.toHaveProperty('referenceRange.0.low');
  expect(unused).toEqual(['OBX-7 reversed']);
});

describe('what is not read is counted by the smallest part', () => {
  test.each([
    ['RXE||1^T^L|1||TAB', 'TQ1|1||||||||S\rTQ1|2||||||||R', ['TQ1-9']],
    ['RXE||1^T^L^^^^2024|1||TAB', '', ['RXE-2.7']],
    ['RXE||1^T^L|1||TAB|||||||||||7^X^^Z', '', ['RXE-16']],
    ['RXE||1^T^L~2^S^L|1||TAB', '', ['RXE-2[2]']],
  ])('%s %s', (rxe, before, expected) => {
    const { unused } = read('RDE^O11', 'ORC|NW|O-1', before, rxe);
    expect(unused).toEqual(expected);
  });

  test('so that every part of every field is read, or counted', () => {
    const field = fc.constantFrom('RXE-30', 'RXE-31', 'RXE-40');
    fc.assert(
      fc.property(
        field,
        fc.stringMatching(/^[a-z^&~]{1,20}$/),
        (place, text) => {
          const fields = Array<string>(50).fill('');
          fields[Number(place.slice(4))] = text;
          fields[2] = '1^T^L';
          const rxe = ['RXE', ...fields.slice(1)].join('|');
          const { unused } = read('RDE^O11', 'ORC|NW|O-1', rxe);
          expect(unused).toEqual(/[a-z]/.test(text) ? [place] : []);
        },
      ),
    );
  });
});
