import { describe, expect, test } from 'vitest';
import { directions } from '#record-summary';
import {
  convertedSections,
  LOINC,
  SNOMED,
  section,
} from '../../support/ccda-sections.ts';

const part = (type: string, content: string, sequence = '') =>
  `<entryRelationship typeCode="${type}">${sequence}${content}</entryRelationship>`;
const made = (loinc: string, text: string, entry: string) =>
  convertedSections(
    section('', loinc, `<text>${text}</text><entry>${entry}</entry>`),
  ).resources as Record<string, unknown>[];

const product = (material: string) =>
  `<consumable><manufacturedProduct><manufacturedMaterial>${material}
   </manufacturedMaterial></manufacturedProduct></consumable>`;
const named = (name: string) =>
  product(
    `<code code="1" displayName="${name}" codeSystem="2.16.840.1.113883.6.88"/>`,
  );
const administration = (content: string, material: string, state = 'active') =>
  `<substanceAdministration classCode="SBADM" moodCode="EVN">
   <statusCode code="${state}"/>${content}${material}</substanceAdministration>`;

describe('the steps of a taper', () => {
  const step = (value: string, number: string) =>
    part(
      'COMP',
      administration(
        `<doseQuantity value="${value}" unit="mg"/>`,
        product('<code nullFlavor="NA"/>'),
      ),
      `<sequenceNumber value="${number}"/>`,
    );

  test('are dosages of the drug in their sequence, and no drugs without a name', () => {
    const drugs = made(
      '10160-0',
      '',
      administration(
        `${step('10', '2')}${step('20', '1')}`,
        named('prednisone'),
      ),
    );
    expect(drugs).toMatchObject([
      {
        medicationCodeableConcept: { text: 'prednisone' },
        dosage: [
          { sequence: 2, doseAndRate: [{ doseQuantity: { value: 10 } }] },
          { sequence: 1, doseAndRate: [{ doseQuantity: { value: 20 } }] },
        ],
      },
    ]);
    expect(directions(drugs[0]?.dosage)).toBe('20 mg; 10 mg');
  });

  test('are other drugs where they name one', () => {
    const other = part('COMP', administration('', named('omeprazole')));
    expect(
      made('10160-0', '', administration(other, named('amoxicillin'))).map(
        ({ medicationCodeableConcept }) => medicationCodeableConcept,
      ),
    ).toMatchObject([{ text: 'amoxicillin' }, { text: 'omeprazole' }]);
  });
});

describe('the status observation of a drug', () => {
  const status = (value: string) =>
    part(
      'REFR',
      `<observation classCode="OBS" moodCode="EVN"><code code="33999-4" ${LOINC}/>${value}</observation>`,
    );
  const coded = (code: string) =>
    status(`<value xsi:type="CE" code="${code}" ${SNOMED}/>`);
  const inWords = (words: string) =>
    status(`<value xsi:type="ST">${words}</value>`);
  const ENDED = '<effectiveTime><high value="20240101"/></effectiveTime>';

  test.each([
    ['active', coded('73425007'), 'completed'],
    ['active', inWords('No longer active'), 'completed'],
    ['active', inWords('On hold'), 'on-hold'],
    ['completed', coded('55561003'), 'active'],
    ['completed', `${ENDED}${coded('55561003')}`, 'completed'],
    ['aborted', coded('55561003'), 'stopped'],
    ['active', inWords('unheard'), 'active'],
  ])('beside the entry that is %s: %s is %s', (state, content, is) => {
    expect(
      made('10160-0', '', administration(content, named('x'), state)),
    ).toMatchObject([{ status: is }]);
  });
});

describe('a result in words', () => {
  const UNKNOWN = '<value xsi:type="CD" nullFlavor="UNK"/>';
  const result = (content: string) =>
    `<observation classCode="OBS" moodCode="EVN">
     <code code="13317-3" displayName="MRSA screen" ${LOINC}/>${content}</observation>`;
  const referred = (words: string) =>
    made(
      '30954-2',
      `<content ID="r">${words}</content>`,
      result(`<text><reference value="#r"/></text>${UNKNOWN}`),
    );

  test('is its value, where the coded one is unknown', () => {
    expect(referred('Positive for MRSA')).toMatchObject([
      { valueString: 'Positive for MRSA' },
    ]);
    expect(referred('Positive for MRSA')[0]?.dataAbsentReason).toBeUndefined();
    expect(referred('145/88')).toMatchObject([{ valueString: '145/88' }]);
  });

  test.each([
    'MRSA screen',
    'MRSA screen [LOINC: 13317-3]',
    'Unknown',
    'MRSA | 4-12',
    'MRSA screen 2024-01-01',
  ])('is not its name, its row or that there is none: %s', (words) => {
    const [only] = referred(words);
    expect(only?.valueString).toBeUndefined();
    expect(only?.dataAbsentReason).toBeDefined();
  });

  test('has the susceptibilities of its organism, two levels down', () => {
    const inner = (code: string, name: string, value: string, more = '') =>
      part(
        'COMP',
        `<observation classCode="OBS" moodCode="EVN"><code code="${code}" displayName="${name}" ${LOINC}/>
         <value xsi:type="ST">${value}</value>${more}</observation>`,
      );
    const [culture] = made(
      '30954-2',
      '',
      result(
        `<value xsi:type="ST">Growth</value>${inner('1-1', 'Organism', 'E. coli', inner('2-2', 'Ampicillin', 'Resistant'))}`,
      ),
    );
    expect(culture?.component).toMatchObject([
      { code: { text: 'Organism' }, valueString: 'E. coli' },
      { code: { text: 'Ampicillin (E. coli)' }, valueString: 'Resistant' },
    ]);
  });
});
