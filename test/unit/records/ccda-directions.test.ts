import { describe, expect, test } from 'vitest';
import { directions } from '#record-summary';
import {
  convertedSections,
  SNOMED,
  section,
  TEMPLATE,
} from '../../support/ccda-sections.ts';

const NARRATIVE = `<text><table><tbody><tr ID="row"><td ID="name">Insulin glargine</td>
  <td ID="sig">30 units, Subcutaneous, At Bedtime</td><td>Active</td></tr></tbody></table></text>`;
const INSULIN = `<consumable><manufacturedProduct><manufacturedMaterial>
  <code code="274783" displayName="insulin glargine" codeSystem="2.16.840.1.113883.6.88"/>
  </manufacturedMaterial></manufacturedProduct></consumable>`;

const drugWith = (content: string) =>
  convertedSections(
    section(
      '',
      '10160-0',
      `${NARRATIVE}<entry><substanceAdministration classCode="SBADM" moodCode="EVN">
       ${content}${INSULIN}</substanceAdministration></entry>`,
    ),
  ).resources[0] as Record<string, unknown> | undefined;
const dosages = (content: string) => drugWith(content)?.dosage;

const words = (id: string, beside = '') =>
  `<text>${beside}<reference value="#${id}"/></text>`;
const time = (type: string, content: string) =>
  `<effectiveTime xsi:type="${type}" operator="A">${content}</effectiveTime>`;
const every = (value: string, unit: string, phase = '') =>
  time('PIVL_TS', `${phase}<period value="${value}" unit="${unit}"/>`);
const event = (code: string, more = '') =>
  time('EIVL_TS', `<event code="${code}"/>${more}`);
const DOSE = '<doseQuantity value="30"/>';

test.each([
  ['20260110', '10', 'd', { start: '2026-01-10', end: '2026-01-20' }],
  ['20260131', '2', 'mo', { start: '2026-01-31', end: '2026-03-31' }],
  ['202601', '10', 'd', { start: '2026-01' }],
  ['20260110', '1.5', 'd', { start: '2026-01-10' }],
  ['20260110', '10', '', { start: '2026-01-10' }],
])('a drug taken from %s for %s %s', (low, value, unit, period) => {
  const width = `<low value="${low}"/><width value="${value}" unit="${unit}"/>`;
  expect(drugWith(time('IVL_TS', width))).toMatchObject({
    effectivePeriod: period,
  });
});

test('an instruction in words does not show its code, and one without words does', () => {
  const instruction = (content: string) =>
    `<entryRelationship typeCode="SUBJ"><act classCode="ACT" moodCode="INT">
     <templateId root="${TEMPLATE}4.20"/><code code="311401005" ${SNOMED}/>${content}</act></entryRelationship>`;
  expect(
    directions(dosages(instruction('<text>Do not rub the site</text>'))),
  ).toBe('Do not rub the site');
  expect(directions(dosages(instruction('')))).toBe('311401005');
});

describe('the directions of a drug in words', () => {
  test('are those that its entry refers to, if nothing better is stated', () => {
    const [said] = dosages(`${words('sig')}${DOSE}`) as object[];
    expect(said).toMatchObject({
      text: '30 units, Subcutaneous, At Bedtime',
      doseAndRate: [{ doseQuantity: { value: 30 } }],
    });
    expect(dosages(`<text>Take 40 units</text>${DOSE}`)).toMatchObject([
      { text: 'Take 40 units' },
    ]);
    const sig = `<entryRelationship typeCode="COMP"><substanceAdministration classCode="SBADM" moodCode="EVN">
      <templateId root="${TEMPLATE}4.147"/><text>Inject 20 units</text></substanceAdministration></entryRelationship>`;
    expect(dosages(`${words('sig')}${sig}`)).toMatchObject([
      { text: 'Inject 20 units' },
    ]);
  });

  test('are those beside a reference', () => {
    expect(dosages(words('row', 'Inject 30 units at bedtime'))).toMatchObject([
      { text: 'Inject 30 units at bedtime' },
    ]);
  });

  test('are not the name of the drug', () => {
    expect(dosages(words('name'))).toBeUndefined();
    expect(dosages(words('sig', 'insulin glargine'))).toMatchObject([
      { text: '30 units, Subcutaneous, At Bedtime' },
    ]);
  });

  test('are in a row the cells that are neither name nor status, if nothing else says how often', () => {
    expect(dosages(words('row'))).toMatchObject([
      { text: '30 units, Subcutaneous, At Bedtime' },
    ]);
    expect(dosages(`${words('row')}${every('24', 'h')}`)).not.toMatchObject([
      { text: expect.anything() },
    ]);
  });
});

describe('the frequency of a drug', () => {
  const repeats = (content: string) =>
    (dosages(content) as { timing?: { repeat?: object } }[]).map(
      ({ timing }) => timing?.repeat,
    );
  const phase = (at: string) => `<phase value="20240501${at}"/>`;

  test('that is one of several has a dosage of its own', () => {
    const twice = `${every('1', 'd', phase('0800'))}${every('1', 'd', phase('2000'))}${DOSE}`;
    const daily = { frequency: 1, period: 1, periodUnit: 'd' };
    expect(repeats(twice)).toEqual([
      { ...daily, timeOfDay: ['08:00:00'] },
      { ...daily, timeOfDay: ['20:00:00'] },
    ]);
    expect(directions(dosages(twice))).toBe(
      '30 (no unit stated) once a day at 08:00; 30 (no unit stated) once a day at 20:00',
    );
    expect(repeats(`${event('ACM')}${event('ACV')}`)).toEqual([
      { when: ['ACM'] },
      { when: ['ACV'] },
    ]);
    expect(directions(dosages(`<text>Twice a day</text>${twice}`))).toBe(
      'Twice a day (30 (no unit stated), once a day at 08:00; 30 (no unit stated), once a day at 20:00)',
    );
  });

  test('and the event that refines it are one', () => {
    expect(repeats(`${every('1', 'd')}${event('HS')}`)).toEqual([
      { frequency: 1, period: 1, periodUnit: 'd', when: ['HS'] },
    ]);
  });

  test('is read within an expression, beside its bounds', () => {
    const both = time(
      'SXPR_TS',
      `<comp xsi:type="IVL_TS"><low value="20240101"/></comp>
       <comp xsi:type="PIVL_TS" operator="A"><period value="6" unit="h"/></comp>`,
    );
    expect(drugWith(both)).toMatchObject({
      effectivePeriod: { start: '2024-01-01' },
      dosage: [
        {
          timing: {
            repeat: {
              boundsPeriod: { start: '2024-01-01' },
              frequency: 1,
              period: 6,
              periodUnit: 'h',
            },
          },
        },
      ],
    });
  });

  test.each([
    ['8', 'hours', { frequency: 1, period: 8, periodUnit: 'h' }],
    ['2', 'Weeks', { frequency: 1, period: 2, periodUnit: 'wk' }],
    ['0.5', 'd', { frequency: 1, period: 12, periodUnit: 'h' }],
  ])('every %s %s is structured', (value, unit, is) => {
    expect(repeats(every(value, unit))).toEqual([is]);
  });

  test('on a day of the week has that day', () => {
    expect(repeats(every('1', 'wk', phase('')))).toEqual([
      { dayOfWeek: ['wed'], frequency: 1, period: 1, periodUnit: 'wk' },
    ]);
  });
});

describe('what cannot be structured stays in words', () => {
  test.each([
    [
      'a dose',
      '<doseQuantity nullFlavor="OTH"><originalText>one to two tablets</originalText></doseQuantity>',
      'one to two tablets',
    ],
    [
      'a dose as text',
      '<doseQuantity>a pea-sized amount</doseQuantity>',
      'a pea-sized amount',
    ],
    [
      'a dose in a translation',
      '<doseQuantity nullFlavor="OTH"><translation><originalText>a thin layer</originalText></translation></doseQuantity>',
      'a thin layer',
    ],
    ['a frequency', every('1', 'BID'), 'BID'],
    [
      'a frequency without a number',
      time('PIVL_TS', '<period unit="TWICE,A,DAY,PRN"/>'),
      'TWICE A DAY PRN',
    ],
    [
      'an event',
      time('EIVL_TS', '<event code="X" displayName="after dialysis"/>'),
      'after dialysis',
    ],
    [
      'a time',
      time('PIVL_TS', '<originalText>with each feed</originalText>'),
      'with each feed',
    ],
    [
      'a maximum without a time',
      '<maxDoseQuantity><numerator value="4" unit="g"/></maxDoseQuantity>',
      'at most 4 g',
    ],
  ])('%s', (_, content, text) => {
    expect(dosages(content)).toMatchObject([{ text }]);
  });

  test('what a drug is needed for, also a second reason', () => {
    const reason = (name: string) =>
      `<precondition><criterion><value xsi:type="CD" code="1" ${SNOMED} displayName="${name}"/></criterion></precondition>`;
    expect(dosages(`${reason('Pain')}${reason('Fever')}`)).toMatchObject([
      { asNeededCodeableConcept: { text: 'Pain' }, text: 'also for Fever' },
    ]);
    expect(
      dosages(
        '<precondition><criterion><text>if dizzy</text></criterion></precondition>',
      ),
    ).toMatchObject([{ asNeededCodeableConcept: { text: 'if dizzy' } }]);
  });

  test('and nothing is said twice', () => {
    expect(
      dosages(`<text>Take BID with food</text>${every('1', 'BID')}`),
    ).toMatchObject([{ text: 'Take BID with food' }]);
  });
});
