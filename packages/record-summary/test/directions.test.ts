import { describe, expect, test } from 'vitest';
import { directions } from '../src/directions.ts';
import { rowsOf } from './records.ts';

const dose = (value: number, unit: string) => ({
  doseAndRate: [{ doseQuantity: { value, unit } }],
});
const every = (
  frequency: number,
  period: number,
  periodUnit: string,
  rest: object = {},
) => ({
  timing: { repeat: { frequency, period, periodUnit, ...rest } },
});
const ORAL = { route: { coding: [{ code: 'C38288', display: 'ORAL' }] } };

describe('directions are shown in full', () => {
  test.each<[string, object[]]>([
    [
      '2 capsules by mouth every 4 hours',
      [{ ...dose(2, '{capsule}'), ...ORAL, ...every(1, 4, 'h') }],
    ],
    [
      '15 (no unit stated) subcutaneous twice a day',
      [
        {
          ...dose(15, '1'),
          route: { coding: [{ code: 'C38299' }] },
          ...every(2, 1, 'd'),
        },
      ],
    ],
    [
      '1 tablet by mouth every 6–8 hours as needed for Pain',
      [
        {
          ...dose(1, '{tablet}'),
          ...ORAL,
          ...every(1, 6, 'h', { periodMax: 8 }),
          asNeededCodeableConcept: { text: 'Pain' },
        },
      ],
    ],
    [
      '1–2 puffs by inhalation 4 times a day as needed',
      [
        {
          doseAndRate: [
            {
              doseRange: {
                low: { value: 1 },
                high: { value: 2, unit: '{puff}' },
              },
            },
          ],
          route: { coding: [{ code: 'C38216' }] },
          timing: { code: { coding: [{ code: 'QID' }] } },
          asNeededBoolean: true,
        },
      ],
    ],
    [
      '40 mg once a day from 1 Jan 2024 to 5 Jan 2024; 20 mg once a day from 6 Jan 2024',
      [
        {
          sequence: 2,
          ...dose(20, 'mg'),
          ...every(1, 1, 'd', { boundsPeriod: { start: '2024-01-06' } }),
        },
        {
          sequence: 1,
          ...dose(40, 'mg'),
          ...every(1, 1, 'd', {
            boundsPeriod: { start: '2024-01-01', end: '2024-01-05' },
          }),
        },
      ],
    ],
    [
      '1 g intravenous every 12 hours for 7 days',
      [
        {
          ...dose(1, 'g'),
          route: { text: 'intravenous' },
          ...every(1, 12, 'h', { boundsDuration: { value: 7, code: 'd' } }),
        },
      ],
    ],
    [
      'at 125 mL/h intravenous over 8 hours',
      [
        {
          doseAndRate: [{ rateQuantity: { value: 125, unit: 'mL/h' } }],
          route: { coding: [{ code: 'IV' }] },
          timing: { repeat: { duration: 8, durationUnit: 'h' } },
        },
      ],
    ],
    // The source's words stand; what they do not say is added.
    ['Take with food', [{ text: 'Take with food' }]],
    [
      'Take 2 capsules by mouth (every 4 hours)',
      [
        {
          text: 'Take 2 capsules by mouth',
          ...dose(2, '{capsule}'),
          ...ORAL,
          ...every(1, 4, 'h'),
        },
      ],
    ],
    [
      '15 mg every week on Monday, Thursday, at most 30 mg per week',
      [
        {
          ...dose(15, 'mg'),
          ...every(1, 1, 'wk', { dayOfWeek: ['mon', 'thu'] }),
          maxDosePerPeriod: {
            numerator: { value: 30, unit: 'mg' },
            denominator: { value: 1, code: 'wk' },
          },
        },
      ],
    ],
    [
      'at most 1 tablet per 12 hours',
      [
        {
          maxDosePerPeriod: {
            numerator: { value: 1, unit: '{tablet}' },
            denominator: { value: 12, unit: 'h' },
          },
        },
      ],
    ],
    [
      'at bedtime with meals, at most 8 tablets per day, Do not drive, Keep cool',
      [
        {
          timing: {
            code: { coding: [{ code: 'BED' }] },
            repeat: { when: ['C'] },
          },
          maxDosePerPeriod: {
            numerator: { value: 8, unit: 'tablets' },
            denominator: { value: 1, unit: 'day' },
          },
          additionalInstruction: [{ text: 'Do not drive' }],
          patientInstruction: 'Keep cool',
        },
      ],
    ],
  ])('%s', (text, dosages) => {
    expect(directions(dosages)).toBe(text);
  });

  test('with the time of taking and the problem that is the reason', async () => {
    const condition = {
      resourceType: 'Condition',
      id: 'c',
      code: { text: 'Gout' },
    };
    const statement = {
      resourceType: 'MedicationStatement',
      id: 'm',
      status: 'active',
      medicationCodeableConcept: {
        text: '83367',
        coding: [{ code: '83367', display: 'Colchicine' }],
      },
      effectivePeriod: { start: '2024-01-01' },
      reasonReference: [{ reference: 'Condition/c' }],
      dosage: [dose(1, '{tablet}')],
    };
    expect(await rowsOf([condition, statement], 'medications')).toEqual([
      [
        'Colchicine',
        '1 tablet',
        '–',
        'since 1 Jan 2024',
        'Active',
        'Gout',
        '–',
        'HIE',
      ],
    ]);
  });
});

describe('a reference range is shown with what it is for', () => {
  const quantity = (value: number) => ({ value, unit: 'mmol/L' });
  const type = (code: string, text: string) => ({ coding: [{ code }], text });
  const potassium = (value: number, referenceRange: object[]) => ({
    resourceType: 'Observation',
    id: 'k',
    status: 'final',
    category: [{ coding: [{ code: 'laboratory' }] }],
    code: { text: 'Potassium' },
    valueQuantity: quantity(value),
    referenceRange,
  });
  const normal = {
    low: quantity(3.5),
    high: quantity(5.1),
    type: type('normal', 'Normal'),
  };
  const critical = { low: quantity(6.5), type: type('HH', 'Critically high') };
  const shown = async (value: number, ranges: object[]) =>
    (await rowsOf([potassium(value, ranges)], 'results'))[1]?.slice(3, 5);

  test('a critical one never as the normal one, and only the normal one flags', async () => {
    expect(await shown(5.5, [normal, critical])).toEqual([
      '3.5 – 5.1 mmol/L; Critically high: ≥ 6.5 mmol/L',
      '[High]',
    ]);
    expect(await shown(4, [critical])).toEqual([
      'Critically high: ≥ 6.5 mmol/L',
      '–',
    ]);
    expect(await shown(4, [critical, normal])).toEqual([
      'Critically high: ≥ 6.5 mmol/L; 3.5 – 5.1 mmol/L',
      '–',
    ]);
  });

  test('with whom it applies to, and its words', async () => {
    const women = {
      ...normal,
      type: undefined,
      appliesTo: [{ text: 'women' }],
      age: { low: { value: 18, unit: 'years' } },
    };
    expect((await shown(4, [women]))?.[0]).toBe(
      '3.5 – 5.1 mmol/L (women, age ≥ 18 years)',
    );
    expect(
      (await shown(4, [{ ...normal, text: '3.5-5.1 fasting' }]))?.[0],
    ).toBe('3.5-5.1 fasting');
    expect((await shown(4, [{ ...normal, text: 'fasting' }]))?.[0]).toBe(
      '3.5 – 5.1 mmol/L (fasting)',
    );
  });
});
