import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readableUnit } from '../../src/fhir/words.ts';
import { property } from '../property.ts';
import { PATIENT, rowsOf } from '../records.ts';

test.each([
  ['mL/min/{1.73_m2}', 'mL/min/1.73 m²'],
  ['mg/{24_h}', 'mg/24 h'],
  ['{Ehrlich_U}/dL', 'Ehrlich U/dL'],
  ['mg{creat}/dL', 'mg creat/dL'],
  ['10*6.{cells}/L', '10*6 cells/L'],
  ['{beats}/min', 'beats/min'],
  ['{score}', 'score'],
  ['/{HPF}', '/HPF'],
  ['kg/m2', 'kg/m²'],
  ['mL/min/1.73m2', 'mL/min/1.73m²'],
  ['mm[Hg]', 'mmHg'],
  ['mg/{}', 'mg/{}'],
  ['1', ''],
])('the unit %s is shown as "%s"', (unit, shown) => {
  expect(readableUnit(unit)).toBe(shown);
});

const ATOMS = fc.constantFrom('mg', 'mL', 'min', 'U', '[iU]', '10*3', '%');
const WORDS = fc.stringMatching(/^[A-Za-z0-9.]+(?:_[A-Za-z0-9.]+)?$/);
const ANNOTATIONS = WORDS.map((words) => `{${words}}`);
const PARTS = fc.oneof(
  ATOMS,
  ANNOTATIONS,
  fc.tuple(ATOMS, ANNOTATIONS).map((parts) => parts.join('')),
);
const UNITS = fc
  .array(PARTS, { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join('/'));

property([UNITS])(
  'a unit keeps all words of its annotations, and its denominator',
  (unit) => {
    const shown = readableUnit(unit);

    expect(shown).not.toMatch(/[{}]|^\/|\/\/|\/$/);
    const wordsIn = (text: string) => text.replaceAll(/[{}\s_]/g, '');
    if (unit.includes('{'))
      expect(wordsIn(shown).replaceAll('m²', 'm2')).toBe(
        wordsIn(unit).replaceAll('[iU]', 'IU'),
      );
  },
);

const observation = (code: string, quantity: object, category: string) => ({
  resourceType: 'Observation',
  id: code,
  status: 'final',
  category: [{ coding: [{ code: category }] }],
  code: { coding: [{ system: 'http://loinc.org', code }], text: code },
  effectiveDateTime: '2026-11-02T08:00:00Z',
  valueQuantity: quantity,
});

test('a result, and its range, are shown with the whole unit', async () => {
  const unit = 'mL/min/{1.73_m2}';
  const result = {
    ...observation('33914-3', { value: 42, unit }, 'laboratory'),
    referenceRange: [{ low: { value: 60, unit } }],
  };
  const [, row] = await rowsOf([PATIENT, result], 'results');
  expect(row?.slice(1, 5)).toEqual([
    '42',
    'mL/min/1.73 m²',
    '≥ 60 mL/min/1.73 m²',
    '[Low]',
  ]);
});

test('a vital sign per minute needs no words for what is counted', async () => {
  const beats = observation(
    '8867-4',
    { value: 72, unit: '{beats}/min' },
    'vital-signs',
  );
  const [row] = await rowsOf([PATIENT, beats], 'vital-signs');
  expect(row).toContain('72');
});
