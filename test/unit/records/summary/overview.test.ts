import { describe, expect, test } from 'vitest';
import { type OverviewBlock, renderHtml, renderPdf } from '#record-summary';
import { drugName } from '../../../../packages/record-summary/src/overview/medications-block.ts';
import type { PatientRecord } from '../../../../src/exchange/records/reading/record-reader.ts';
import { samples } from '../../../support/deliveries.ts';
import {
  gather,
  PATIENT,
  partsOf,
  readerOf,
  sampleReader,
} from '../../../support/summary-reader.ts';

// The summaries of these tests are made on 21 Nov 2026.

async function blocksOf(
  reader: PatientRecord,
): Promise<Record<string, OverviewBlock>> {
  for await (const part of partsOf(reader))
    if (part.kind === 'overview')
      return Object.fromEntries(
        part.blocks.map((block) => [block.title, block]),
      );
  throw new Error('the summary has no overview');
}
const blockOf = async (title: string, contents: readonly object[]) => {
  const blocks = Object.values(
    await blocksOf(readerOf([PATIENT, ...contents])),
  );
  // The day that most items share stands in the title.
  const block = blocks.find(
    (each) => each.title === title || each.title.startsWith(`${title}, `),
  );
  if (block === undefined) throw new Error(`there is no block ${title}`);
  return {
    title: block.title,
    items: block.items.map(({ text, detail }) => `${text} | ${detail}`),
    notes: block.notes.map(({ text }) => text),
    rest: block.rest?.text,
    alerts: block.items
      .filter(({ tone }) => tone === 'alert')
      .map(({ text }) => text),
  };
};

const status = (code: string) => ({
  clinicalStatus: { coding: [{ code }], text: code },
});
const loinc = (code: string, text: string) => ({
  coding: [{ system: 'http://loinc.org', code }],
  text,
});
const category = (code: string) => [{ coding: [{ code }] }];

describe('alerts', () => {
  const flag = (id: string, more: object = {}) => ({
    resourceType: 'Flag',
    id,
    status: 'active',
    code: { text: 'Difficult airway' },
    category: [{ text: 'Safety' }],
    period: { start: '2014-02-03' },
    ...more,
  });

  test('stand first while they are active, however old', async () => {
    const blocks = await blocksOf(
      readerOf([PATIENT, flag('a'), flag('b', { code: { text: 'Falls' } })]),
    );
    expect(Object.keys(blocks)[0]).toBe('Alerts');
    const { items, alerts } = await blockOf('Alerts', [flag('a'), flag('b')]);
    expect(items).toEqual(['Difficult airway | Safety; since 3 Feb 2014']);
    expect(alerts).toEqual(['Difficult airway']);
  });

  test('that are over are counted, and a record without any has no block', async () => {
    const ended = { period: { start: '2014-02-03', end: '2015-01-01' } };
    expect(
      await blockOf('Alerts', [
        flag('a', { status: 'inactive' }),
        flag('b', ended),
        flag('c', { status: 'entered-in-error' }),
      ]),
    ).toMatchObject({
      items: [],
      notes: ['None of the alerts is active.'],
      rest: 'Not shown here: 1 retracted alert, 2 past alerts.',
    });
    const blocks = await blocksOf(readerOf([PATIENT]));
    expect(Object.keys(blocks)).not.toContain('Alerts');
    expect(Object.keys(blocks)).not.toContain('Advance directives');
  });
});

describe('advance directives', () => {
  const resuscitation = {
    resourceType: 'Observation',
    id: 'o',
    status: 'final',
    code: {
      coding: [{ system: 'http://snomed.info/sct', code: '304251008' }],
      text: 'Resuscitation status',
    },
    effectivePeriod: { start: '2012-05-06' },
    valueCodeableConcept: { text: 'Not for resuscitation' },
  };
  const block = (...contents: object[]) =>
    blockOf('Advance directives', contents);

  test.each<[string, object, string]>([
    [
      'an observation without an end',
      resuscitation,
      'Resuscitation status: Not for resuscitation | since 6 May 2012',
    ],
    [
      'an order',
      {
        resourceType: 'ServiceRequest',
        id: 's',
        status: 'active',
        intent: 'order',
        code: { text: 'Do not resuscitate' },
        authoredOn: '2012-05-06',
      },
      'Do not resuscitate | order; since 6 May 2012',
    ],
    [
      'a consent',
      {
        resourceType: 'Consent',
        id: 'c',
        status: 'active',
        scope: { coding: [{ code: 'adr' }], text: 'Advance directive' },
        category: [{ text: 'Living will' }],
        dateTime: '2012-05-06',
      },
      'Living will | advance directive; consent; since 6 May 2012',
    ],
  ])('in force are on page one, however old: %s', async (_, content, item) => {
    const { items, alerts } = await block(content);
    expect(items).toEqual([item]);
    expect(alerts).toHaveLength(1);
    const blocks = Object.values(await blocksOf(readerOf([PATIENT, content])));
    const saying = blocks.filter(({ items }) => items.length > 0);
    expect(saying.map(({ title }) => title)).toEqual(['Advance directives']);
  });

  test('that a newer one replaces, or whose time is over, are counted', async () => {
    const newer = {
      ...resuscitation,
      id: 'n',
      effectivePeriod: { start: '2020-01-02' },
      valueCodeableConcept: { text: 'For resuscitation' },
    };
    expect(await block(newer, resuscitation)).toMatchObject({
      items: ['Resuscitation status: For resuscitation | since 2 Jan 2020'],
      rest: 'Not shown here: 1 earlier directive.',
    });
    const over = {
      ...resuscitation,
      effectivePeriod: { start: '2012-05-06', end: '2013-05-06' },
    };
    expect(await block(over)).toMatchObject({
      items: [],
      notes: ['None of the directives is in force.'],
    });
  });
});

describe('allergies', () => {
  const block = (...contents: object[]) =>
    blockOf('Allergies and intolerances', contents);
  const peanut = {
    resourceType: 'AllergyIntolerance',
    id: 'a',
    code: { text: 'Peanut' },
    ...status('active'),
  };
  const none = {
    resourceType: 'AllergyIntolerance',
    id: 'n',
    recordedDate: '2024-03-07',
    code: { coding: [{ system: 'http://snomed.info/sct', code: '716186003' }] },
  };

  test('"none known" by a source is not the same as nothing delivered', async () => {
    expect(await block()).toMatchObject({
      items: [],
      notes: [
        'The sources have delivered no allergies; that does not mean that there are none.',
      ],
    });
    expect((await block(none)).notes).toEqual([
      'No known allergies, stated by HIE, 7 Mar 2024.',
    ]);
  });

  test('a statement that there are none does not hide an allergy, and the contradiction is marked', async () => {
    const { items, notes } = await block(none, {
      ...peanut,
      criticality: 'high',
    });
    expect(items).toEqual(['Peanut | high criticality']);
    expect(notes.join()).toContain(
      'This contradicts the allergies listed above.',
    );
  });

  test('what is said of one substance twice is one line with the fuller words; what names none stays apart', async () => {
    const fish = {
      ...peanut,
      code: { text: 'Fish' },
      onsetDateTime: '1993-09-16',
    };
    const reaction = (severity?: string) => ({
      reaction: [{ manifestation: [{ text: 'Hives' }], severity }],
    });
    const { items, alerts } = await block(
      { ...fish, ...reaction() },
      {
        ...fish,
        id: 'b',
        code: { text: 'fish' },
        ...reaction('mild'),
        criticality: 'high',
      },
      { ...peanut, id: 'c', code: undefined },
      { ...peanut, id: 'd', code: undefined },
    );
    expect([...items].sort().reverse()).toEqual([
      expect.stringMatching(
        /^fish \| high criticality; Hives, mild; 16 Sep 1993; 2 entries$/,
      ),
      'Unnamed substance | ',
      'Unnamed substance | ',
    ]);
    expect(alerts).toHaveLength(1);
  });

  test('inactive ones are counted', async () => {
    expect(await block({ ...peanut, ...status('resolved') })).toMatchObject({
      items: [],
      notes: ['None of the delivered allergies is active.'],
      rest: 'Not shown here: 1 inactive or refuted allergy.',
    });
  });
});

test('active problems of one name are one item with all their days; past and social ones are counted', async () => {
  const condition = (id: string, text: string, rest: object) => ({
    resourceType: 'Condition',
    id,
    code: { text },
    ...status('active'),
    ...rest,
  });
  const { items, rest } = await blockOf('Active problems', [
    condition('a', 'Anemia', { onsetDateTime: '2016-03-01' }),
    condition('b', 'anemia', { onsetDateTime: '2010' }),
    condition('c', 'Asthma', { abatementDateTime: '2012-01-01' }),
    condition('d', 'Part-time employment (finding)', {}),
    condition('e', 'Gout', {
      verificationStatus: { coding: [{ code: 'provisional' }] },
    }),
  ]);
  expect(items).toEqual([
    'Anemia | since 1 Mar 2016; since 2010',
    'Gout | active, provisional',
  ]);
  expect(rest).toBe(
    'Not shown here: 1 social or other finding, 1 past problem.',
  );
});

describe('current medications', () => {
  const order = (id: string, text: string, rest: object = {}) => ({
    resourceType: 'MedicationRequest',
    id,
    status: 'active',
    medicationCodeableConcept: { text },
    ...rest,
  });
  const dispense = (id: string, text: string, rest: object = {}) => ({
    resourceType: 'MedicationDispense',
    id,
    status: 'completed',
    whenHandedOver: '2026-09-01',
    medicationCodeableConcept: { text },
    ...rest,
  });
  const block = (...contents: object[]) =>
    blockOf('Current medications', contents);

  const rxNorm = (code: string, text: string) => ({
    coding: [{ system: 'http://www.nlm.nih.gov/research/umls/rxnorm', code }],
    text,
  });
  /** A document's list of drugs, in its own words. */
  const stated = (id: string, concept: object, rest: object = {}) => ({
    resourceType: 'MedicationStatement',
    id,
    status: 'active',
    medicationCodeableConcept: concept,
    effectivePeriod: { start: '2025-11-30' },
    ...rest,
  });

  test('of a document and of an order are one line if their code is one, though the words differ', async () => {
    const byReference = order('r', '', {
      medicationCodeableConcept: undefined,
      medicationReference: { reference: 'Medication/m' },
      authoredOn: '2025-12-01',
    });
    const medication = {
      resourceType: 'Medication',
      id: 'm',
      code: rxNorm('314076', 'Lisinopril 10 MG Oral Tablet'),
    };
    const { items } = await block(
      medication,
      byReference,
      stated('s', rxNorm('314076', 'LISINOPRIL 10mg TAB'), {
        dosage: [{ text: 'One in the morning' }],
      }),
    );
    expect(items).toEqual([
      'Lisinopril 10 MG Oral Tablet | One in the morning; ordered 1 Dec 2025',
    ]);
  });

  test('stay two where a code names another drug than the words, or another strength', async () => {
    const { items } = await block(
      order('r', '', {
        medicationCodeableConcept: rxNorm('314076', 'Lisinopril 10 MG Tablet'),
      }),
      stated('s', rxNorm('314076', 'Warfarin 5 MG Tablet')),
      stated('t', rxNorm('311354', 'Lisinopril 5 MG Tablet')),
    );
    expect(items).toHaveLength(3);
  });

  test('are one line for each product with its own directions and age, those of one drug together', async () => {
    const { items, rest } = await block(
      order('a', 'Metformin hydrochloride 500 MG Oral Tablet', {
        authoredOn: '2026-01-05',
      }),
      order(
        'b',
        '24 HR metformin hydrochloride 750 MG Extended Release Oral Tablet',
        {
          authoredOn: '2025-01-05',
          status: 'on-hold',
          dosageInstruction: [{ text: 'One at night' }],
        },
      ),
      order('c', 'Warfarin 5 MG Oral Tablet', { status: 'stopped' }),
      order('d', 'Lisinopril 10 MG Oral Tablet', { authoredOn: '2025-12-01' }),
    );
    expect(items).toEqual([
      'Metformin hydrochloride 500 MG Oral Tablet | ordered 5 Jan 2026',
      '24 HR metformin hydrochloride 750 MG Extended Release Oral Tablet | One at night; on hold; ordered 5 Jan 2025 (1 year ago)',
      'Lisinopril 10 MG Oral Tablet | ordered 1 Dec 2025',
    ]);
    expect(rest).toBe('Not shown here: 1 past medication.');
  });

  test('name one product once, say how old an order is, and drop what says nothing beside another', async () => {
    const code = {
      medicationCodeableConcept: {
        text: 'NDA020800 0.3 ML Epinephrine 1 MG/ML Auto-Injector',
      },
    };
    const { items } = await block(
      {
        resourceType: 'MedicationRequest',
        id: 'r',
        status: 'active',
        ...code,
        authoredOn: '1993-09-16',
        dosageInstruction: [{ text: 'Take as needed' }],
      },
      {
        resourceType: 'MedicationStatement',
        id: 's',
        status: 'unknown',
        ...code,
        effectivePeriod: { start: '1993-09-16' },
        dosage: [
          {
            doseAndRate: [{ doseQuantity: { value: 1 } }],
            timing: { repeat: { boundsPeriod: { start: '1993-09-16' } } },
          },
        ],
      },
    );
    expect(items).toEqual([
      '0.3 ML Epinephrine 1 MG/ML Auto-Injector | Take as needed; ordered 16 Sep 1993 (33 years ago)',
    ]);
  });

  test('that a source ordered and a document states as taken are one drug, and not two orders', async () => {
    const taken = {
      resourceType: 'MedicationStatement',
      effectivePeriod: { start: '2025-02-01' },
    };
    const { items } = await block(
      order('a', 'Lisinopril 10 MG Oral Tablet', { authoredOn: '2026-01-05' }),
      {
        ...order('b', 'Lisinopril 10 MG Oral Tablet'),
        ...taken,
      },
    );
    expect(items).toHaveLength(1);
    expect(items[0]).toMatch(/ordered 5 Jan 2026$/);
  });

  test('include what a pharmacy dispensed in the last year without a current prescription', async () => {
    const { items, rest } = await block(
      order('a', 'Metformin 500 MG Oral Tablet'),
      dispense('m', 'metformin 500 MG Oral Tablet'),
      dispense('w', 'Warfarin 5 MG Oral Tablet', {
        daysSupply: { value: 30, unit: 'd' },
      }),
      dispense('w2', 'Warfarin 5 MG Oral Tablet', {
        whenHandedOver: '2026-08-01',
      }),
      dispense('o', 'Amoxicillin', { whenHandedOver: '2020-01-01' }),
      dispense('x', 'Digoxin', { status: 'cancelled' }),
    );
    expect(items[1]).toBe(
      'Warfarin 5 MG Oral Tablet | dispensed 1 Sep 2026 (30 days); no current prescription was delivered',
    );
    expect(items).toHaveLength(2);
    expect(rest).toBe('Not shown here: 3 further dispenses.');
  });

  test('call nothing given or dispensed that was not', async () => {
    const given = (id: string, status: string) => ({
      resourceType: 'MedicationAdministration',
      id,
      status,
      medicationCodeableConcept: { text: 'Heparin' },
      effectiveDateTime: '2026-11-01',
    });
    const { items, rest } = await block(
      given('a', 'completed'),
      given('b', 'not-done'),
      given('c', 'entered-in-error'),
      {
        ...given('d', 'preparation'),
        resourceType: 'MedicationDispense',
        whenPrepared: '2026-11-01',
      },
    );
    expect(items).toEqual([
      'Heparin | not yet dispensed (preparation) 1 Nov 2026; no current prescription was delivered',
    ]);
    expect(rest).toBe(
      'Not shown here: 2 medications not given, 1 medication given.',
    );
  });

  test.each([
    [
      'NDA020503 200 ACTUAT Albuterol 0.09 MG/ACTUAT Metered Dose Inhaler',
      'Albuterol',
    ],
    [
      'Acetaminophen 325 MG / Oxycodone Hydrochloride 10 MG Oral Tablet [Percocet]',
      'Acetaminophen / Oxycodone Hydrochloride',
    ],
    [
      'insulin isophane, human 70 UNT/ML / insulin, regular, human 30 UNT/ML Injectable Suspension',
      'insulin isophane, human / insulin, regular, human',
    ],
    ['Vitamin B 12 5000 MCG Sublingual Tablet', 'Vitamin B 12'],
    ['Yaz 28 Day Pack', 'Yaz 28 Day Pack'],
    [
      '{7 (Inert 1 MG Oral Tablet) / 21 (mestranol 0.05 MG Oral Tablet) } Pack',
      '{7 (Inert 1 MG Oral Tablet) / 21 (mestranol 0.05 MG Oral Tablet) } Pack',
    ],
    ['500 MG', '500 MG'],
  ])('%s is the drug %s', (name, drug) => {
    expect(drugName(name)).toBe(drug);
  });
});

describe('last vital signs', () => {
  const vital = (id: string, effectiveDateTime: string, rest: object) => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    category: category('vital-signs'),
    effectiveDateTime,
    ...rest,
  });
  const weight = (value: number, unit = 'kg') => ({
    code: loinc('29463-7', 'Body weight'),
    valueQuantity: { value, unit },
  });
  const block = (...contents: object[]) =>
    blockOf('Last vital signs', contents);

  test('show the newest value and how it compares with the one before in the same unit', async () => {
    const pressure = (over: number, under: number) => ({
      code: loinc('85354-9', 'Blood pressure panel'),
      component: [
        {
          code: loinc('8480-6', 'Systolic'),
          valueQuantity: { value: over, unit: 'mm[Hg]' },
        },
        {
          code: loinc('8462-4', 'Diastolic'),
          valueQuantity: { value: under, unit: 'mm[Hg]' },
        },
      ],
    });
    const { title, items, rest } = await block(
      vital('w1', '2026-05-01', weight(71)),
      vital('w2', '2025-05-01', weight(160, 'lb')),
      vital('w3', '2024-05-01', weight(69.5)),
      vital('w4', '2023-05-01', weight(68)),
      vital('b1', '2026-05-01', pressure(130, 80)),
      vital('b2', '2025-05-01', pressure(120, 75)),
    );
    expect(items).toEqual([
      'Blood pressure: 130/80 mmHg | before: 120/75 mmHg on 1 May 2025',
      'Weight: 71 kg | up from 69.5 on 1 May 2024',
    ]);
    expect(title).toBe('Last vital signs, 1 May 2026');
    expect(rest).toBe('Not shown here: 2 earlier measurements.');
  });

  test('show both values if sources differ about one time, however they write it', async () => {
    const { items } = await block(
      vital('a', '2026-05-01T08:00:00-05:00', weight(71)),
      vital('b', '2026-05-01T13:00:00Z', weight(91)),
      vital('c', '2025-05-01', weight(70)),
    );
    expect(items).toEqual([
      expect.stringMatching(/^Weight: (71 kg or 91|91 kg or 71) kg \| $/),
    ]);
  });

  test('have the day of most of them in the title, not of a single newer one', async () => {
    const rate = {
      code: loinc('8867-4', 'Heart rate'),
      valueQuantity: { value: 70, unit: '/min' },
    };
    const pain = {
      code: loinc('72514-3', 'Pain severity [Score] - Reported'),
      valueInteger: 3,
    };
    const heat = {
      code: loinc('8310-5', 'Temperature'),
      valueQuantity: { value: 38, unit: 'Cel' },
    };
    const { title, items } = await block(
      vital('t', '2026-07-13', heat),
      vital('w', '2026-04-28', weight(71)),
      vital('r', '2026-04-28', rate),
      vital('p', '2026-04-28', pain),
    );
    expect(title).toBe('Last vital signs, 28 Apr 2026');
    expect(items).toEqual([
      'Temperature: 38 °C | 13 Jul 2026',
      'Heart rate: 70 /min | ',
      'Weight: 71 kg | ',
      'Pain severity: 3 | ',
    ]);
  });

  test('never show a retracted value as the last one', async () => {
    const { items, rest } = await block(
      vital('a', '2026-05-01', { ...weight(710), status: 'entered-in-error' }),
      vital('b', '2025-05-01', weight(70)),
    );
    expect(items).toEqual(['Weight: 70 kg | ']);
    expect(rest).toBe('Not shown here: 1 retracted measurement.');
  });

  test('of one visit stand together, in sensible rounding, and none is older than fits the age', async () => {
    const degrees = (value: number) => ({
      code: loinc('8310-5', 'Body temperature'),
      valueQuantity: { value, unit: 'Cel' },
    });
    const head = {
      code: loinc('9843-4', 'Head circumference'),
      valueQuantity: { value: 52.17, unit: 'cm' },
    };
    const adult = await block(
      vital('t1', '2026-03-10', degrees(37.808)),
      vital('t2', '2018-01-29', degrees(37.874)),
      vital('w1', '2026-05-01T09:00:00Z', weight(71.04)),
      vital('w2', '2025-05-01', weight(3.456)),
      vital('h', '2023-09-01', head),
    );
    expect(adult.title).toBe('Last vital signs, 1 May 2026');
    expect(adult.items).toEqual([
      'Weight: 71 kg | up from 3.46 on 1 May 2025',
      'Temperature: 37.8 °C | 10 Mar 2026',
    ]);
    const child = { ...PATIENT, birthDate: '2016-04-04' };
    const blocks = await blocksOf(
      readerOf([child, vital('h', '2020-03-09', head)]),
    );
    expect(blocks['Last vital signs']).toMatchObject({
      items: [],
      notes: [
        {
          text: 'None of the last 12 months; the last ones are of 9 Mar 2020.',
        },
      ],
      rest: { text: 'Not shown here: 1 earlier measurement.' },
    });
  });
});

describe('latest results', () => {
  const result = (
    id: string,
    effectiveDateTime: string | undefined,
    value: number,
    rest: object = {},
  ) => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    category: category('laboratory'),
    code: loinc('2345-7', 'Glucose'),
    ...(effectiveDateTime !== undefined && { effectiveDateTime }),
    valueQuantity: { value, unit: 'mg/dL' },
    ...rest,
  });
  const range = {
    referenceRange: [
      { low: { value: 70, unit: 'mg/dL' }, high: { value: 99, unit: 'mg/dL' } },
    ],
  };
  const flagged = (code: string) => ({
    interpretation: [{ coding: [{ code }] }],
  });
  const block = (...contents: object[]) => blockOf('Latest results', contents);

  test('are one item per test, critical ones first, and say when a newer result is not flagged', async () => {
    const { items, alerts, rest } = await block(
      result('a', '2026-10-01', 90, range),
      result('b', '2026-09-01', 180, range),
      result('c', '2026-08-01', 170, range),
      result('k', '2026-03-01', 7, {
        ...flagged('HH'),
        code: loinc('2823-3', 'Potassium'),
      }),
      result('d', '2024-08-01', 170, range),
      result('e', '2024-07-01', 90, range),
    );
    expect(items).toEqual([
      'Potassium: 7 mg/dL (Critically high) | ',
      'Glucose: 90 mg/dL | 1 Oct 2026; down from 180 on 1 Sep 2026; reference range 70 – 99 mg/dL; not flagged; abnormal: 180 mg/dL ([High]) on 1 Sep 2026; 2 of 3 results of the year abnormal',
    ]);
    expect(alerts).toEqual(['Potassium: 7 mg/dL (Critically high)']);
    expect(rest).toBe('Not shown here: 3 earlier results.');
  });

  test('an absent flag is not called normal: results that cannot be judged are counted', async () => {
    const { items, notes } = await block(
      result('a', '2026-10-01', 900),
      result('b', '2026-09-01', 90, range),
    );
    expect(items).toEqual(['Glucose: 900 mg/dL | up from 90 on 1 Sep 2026']);
    expect(notes).toEqual([
      'Not judged: 1 of 1 have neither a flag nor a usable reference range.',
    ]);
  });

  test('stand in the order of what they are for; what has no value is counted', async () => {
    const sodium = { code: loinc('2951-2', 'Sodium') };
    const { items, rest } = await block(
      result('a', '2026-10-01', 1, sodium),
      result('b', '2026-10-01', 2),
      result('c', '2026-10-01', 3, { code: loinc('2823-3', 'Potassium') }),
      result('d', '2026-10-02', 4, { code: loinc('17861-6', 'Calcium') }),
      result('e', '2026-10-02', 0, {
        code: { text: 'Fall scale' },
        valueQuantity: undefined,
        valueString: '{entry.value}',
      }),
      {
        resourceType: 'DiagnosticReport',
        id: 'r',
        code: { text: 'Panel' },
        result: ['c', 'b', 'a'].map((id) => ({
          reference: `Observation/${id}`,
        })),
      },
    );
    expect(items.map((item) => item.split(':')[0])).toEqual([
      'Glucose',
      'Potassium',
      'Sodium',
      'Calcium',
    ]);
    expect(rest).toBe('Not shown here: 1 result without a value.');
  });

  test('take an undated abnormal result as one of the last year, and no retracted one', async () => {
    const { items, rest } = await block(
      result('a', undefined, 180, range),
      result('b', '2026-10-01', 500, { ...range, status: 'entered-in-error' }),
    );
    expect(items).toEqual([
      'Glucose: 180 mg/dL ([High]) | reference range 70 – 99 mg/dL',
    ]);
    expect(rest).toBe('Not shown here: 1 retracted result.');
  });
});

describe('page one', () => {
  const lab = (id: string, code: string, text: string, rest: object) => ({
    resourceType: 'Observation',
    id,
    status: 'final',
    category: category('laboratory'),
    code: loinc(code, text),
    ...rest,
  });
  const amount = (value: number, unit = 'mg/dL') => ({
    valueQuantity: { value, unit },
  });
  const results = (...contents: object[]) =>
    blockOf('Latest results', contents);

  test('shows the newest result of a test however old it is, what is abnormal and what matters before colour', async () => {
    const { title, items } = await results(
      lab('c', '5778-6', 'Color of Urine', {
        effectiveDateTime: '2026-11-01',
        valueCodeableConcept: { text: 'Brown' },
      }),
      lab('k', '2160-0', 'Creatinine', {
        effectiveDateTime: '2026-11-01',
        ...amount(0.65),
      }),
      lab('l', '18262-6', 'LDL Cholesterol', {
        effectiveDateTime: '2019-03-02',
        ...amount(249.04),
      }),
      lab('f', '57905-2', 'Occult blood', {
        effectiveDateTime: '2024-01-05',
        ...amount(150, 'ng/mL'),
        interpretation: [{ coding: [{ code: 'H' }] }],
      }),
    );
    expect(title).toBe('Latest results, 1 Nov 2026');
    expect(items).toEqual([
      'Occult blood: 150 ng/mL (High) | 5 Jan 2024',
      'Creatinine: 0.65 mg/dL | ',
      'LDL Cholesterol: 249 mg/dL | 2 Mar 2019 (7 years ago)',
      'Color of Urine: Brown | ',
    ]);
  });

  test('shows a panel once that came in serum and in blood, and both where they differ', async () => {
    const day = { effectiveDateTime: '2026-11-01' };
    const { items, rest } = await results(
      lab('a', '2345-7', 'Glucose [Mass/volume] in Serum or Plasma', {
        ...day,
        ...amount(94.49),
      }),
      lab('b', '2339-0', 'Glucose [Mass/volume] in Blood', {
        ...day,
        ...amount(94.49),
      }),
      lab('c', '2160-0', 'Creatinine [Mass/volume] in Serum or Plasma', {
        ...day,
        ...amount(1.965),
      }),
      lab('d', '38483-4', 'Creatinine [Mass/volume] in Blood', {
        ...day,
        ...amount(4.82),
      }),
      lab('e', '38483-4', 'Creatinine [Mass/volume] in Blood', {
        effectiveDateTime: '2025-11-01',
        ...amount(3.83),
      }),
    );
    expect([...items].sort()).toEqual([
      'Creatinine [Mass/volume] in Blood: 4.82 mg/dL | up from 3.83 on 1 Nov 2025',
      'Creatinine [Mass/volume] in Serum or Plasma: 1.97 mg/dL | ',
      'Glucose: 94.5 mg/dL | ',
    ]);
    expect(rest).toBeUndefined();
  });

  test('calls unchanged what the test cannot tell from no change, unless a flag has changed', async () => {
    const range = {
      referenceRange: [{ high: { value: 1.2, unit: 'mg/dL' } }],
    };
    const two = (before: number, now: number) =>
      results(
        lab('a', '2160-0', 'Creatinine', {
          effectiveDateTime: '2026-11-01',
          ...amount(now),
          ...range,
        }),
        lab('b', '2160-0', 'Creatinine', {
          effectiveDateTime: '2026-05-01',
          ...amount(before),
          ...range,
        }),
      );
    expect((await two(0.64, 0.65)).items[0]).toContain(
      'unchanged (0.64 on 1 May 2026)',
    );
    expect((await two(0.64, 0.9)).items[0]).toContain('up from 0.64');
    expect((await two(1.19, 1.21)).items[0]).toContain('up from 1.19');
  });

  test('rounds no value to the other side of its reference range', async () => {
    const { items } = await results(
      lab('a', '2951-2', 'Sodium', {
        effectiveDateTime: '2026-11-01',
        ...amount(145.4, 'mmol/L'),
        referenceRange: [{ high: { value: 145, unit: 'mmol/L' } }],
      }),
    );
    expect(items[0]).toContain('145.4 mmol/L ([High])');
  });

  test('names the last fill of each current drug, and that one ordered as current was filled years ago', async () => {
    const drug = (text: string) => ({
      medicationCodeableConcept: { text },
    });
    const { items, alerts } = await blockOf('Current medications', [
      {
        resourceType: 'MedicationRequest',
        id: 'a',
        status: 'active',
        authoredOn: '2021-02-01',
        ...drug('Apixaban 5 MG Oral Tablet'),
      },
      {
        resourceType: 'MedicationRequest',
        id: 'b',
        status: 'active',
        authoredOn: '2026-09-01',
        ...drug('Furosemide 40 MG Oral Tablet'),
      },
      {
        resourceType: 'MedicationDispense',
        id: 'c',
        status: 'completed',
        whenHandedOver: '2023-07-14',
        ...drug('Apixaban 5 MG Oral Tablet'),
      },
    ]);
    expect([...items].sort()).toEqual([
      'Apixaban 5 MG Oral Tablet | ordered 1 Feb 2021, but last filled 14 Jul 2023 (3 years ago)',
      'Furosemide 40 MG Oral Tablet | ordered 1 Sep 2026; no fill was delivered',
    ]);
    expect(alerts).toEqual(['Apixaban 5 MG Oral Tablet']);
  });

  test('puts what threatens life before what is newer, and what is suspected after what is known', async () => {
    const problem = (id: string, text: string, onsetDateTime: string) => ({
      resourceType: 'Condition',
      id,
      code: { text },
      onsetDateTime,
      ...status('active'),
    });
    const { items } = await blockOf('Active problems', [
      problem('a', 'Polyp of colon (disorder)', '2026-01-01'),
      problem('b', 'Suspected lung cancer (situation)', '2026-01-02'),
      problem('c', 'Small cell carcinoma of lung (disorder)', '2020-01-01'),
      problem('d', 'Diabetes mellitus type 2 (disorder)', '2010-01-01'),
    ]);
    expect(items.map((item) => item.split(' | ')[0])).toEqual([
      'Small cell carcinoma of lung',
      'Suspected lung cancer',
      'Diabetes mellitus type 2',
      'Polyp of colon',
    ]);
  });

  test('puts stays and emergencies before check-ups, and major procedures before none', async () => {
    const visit = (id: string, code: string, text: string, start: string) => ({
      resourceType: 'Encounter',
      id,
      status: 'finished',
      class: { code },
      type: [{ text }],
      period: { start },
    });
    const done = (id: string, text: string, performedDateTime: string) => ({
      resourceType: 'Procedure',
      id,
      status: 'completed',
      code: { text },
      performedDateTime,
    });
    const contents = [
      visit('a', 'AMB', 'Check-up', '2026-11-01'),
      visit('b', 'IMP', 'Infarction', '2021-02-03'),
      done('c', 'Dental cleaning', '2026-11-02'),
      done('d', 'Percutaneous coronary intervention', '2021-02-03'),
      done('e', 'Colonoscopy', '2026-01-03'),
    ];
    const encounters = await blockOf(
      'Encounters: stays and emergencies first',
      contents,
    );
    expect(encounters.items).toEqual([
      'Infarction | 3 Feb 2021 (5 years ago); Inpatient',
      'Check-up | 1 Nov 2026; Ambulatory',
    ]);
    const procedures = await blockOf('Major procedures', contents);
    expect(procedures.items).toEqual([
      'Percutaneous coronary intervention | 3 Feb 2021 (5 years ago)',
      'Colonoscopy | 3 Jan 2026',
    ]);
    expect(procedures.rest).toBe('Not shown here: 1 other procedure.');
  });

  test('shows the last vital signs of somebody who has died, and of an adult who was not seen for years', async () => {
    const weight = {
      resourceType: 'Observation',
      id: 'w',
      status: 'final',
      category: category('vital-signs'),
      code: loinc('29463-7', 'Body weight'),
      effectiveDateTime: '2017-08-22',
      valueQuantity: { value: 70, unit: 'kg' },
    };
    for (const patient of [
      PATIENT,
      { ...PATIENT, birthDate: '2010-01-01', deceasedDateTime: '2017-09-01' },
    ]) {
      const blocks = Object.values(await blocksOf(readerOf([patient, weight])));
      const block = blocks.find(({ title }) => title.startsWith('Last vital'));
      expect(block?.title).toBe('Last vital signs, 22 Aug 2017 (9 years ago)');
      expect(block?.items[0]?.text).toBe('Weight: 70 kg');
    }
  });

  test('a statement that there is nothing names the resource that states it', async () => {
    const none = {
      resourceType: 'AllergyIntolerance',
      id: 'n',
      code: { text: 'No known allergies' },
    };
    const blocks = await blocksOf(readerOf([PATIENT, none]));
    expect(blocks['Allergies and intolerances']?.notes).toEqual([
      {
        text: 'No known allergies, stated by HIE, undated.',
        tone: 'stated',
        of: [{ resourceType: 'AllergyIntolerance', id: 'n' }],
      },
    ]);
  });
});

test('immunizations are listed by vaccine with their days; what was not given is counted', async () => {
  const dose = (
    id: string,
    text: string,
    occurrenceDateTime: string,
    status = 'completed',
  ) => ({
    resourceType: 'Immunization',
    id,
    status,
    occurrenceDateTime,
    vaccineCode: { text },
  });
  const years = Array.from({ length: 7 }, (_, index) =>
    dose(`i${index}`, 'Influenza', `${2026 - index}-10-01`),
  );
  const { items, rest } = await blockOf('Immunizations', [
    ...years,
    dose('m1', 'MMR', '2017-06-12'),
    dose('m2', 'mmr', '2021-03-15'),
    dose('v', 'Varicella', '2021-03-15', 'not-done'),
  ]);
  expect(items).toEqual([
    'Influenza | 7 doses: 1 Oct 2026; 1 Oct 2025; 1 Oct 2024; earlier ones',
    'MMR | 2 doses: 15 Mar 2021; 12 Jun 2017',
  ]);
  expect(rest).toBe('Not shown here: 1 vaccine that was not given.');
});

test('a vaccine that was followed by a reaction says so', async () => {
  const vaccine = (id: string, rest: object) => ({
    resourceType: 'Immunization',
    id,
    status: 'completed',
    occurrenceDateTime: '2023-10-01',
    vaccineCode: { text: `Vaccine ${id}` },
    ...rest,
  });
  const { items } = await blockOf('Immunizations', [
    vaccine('a', { reaction: [{ detail: { display: 'Anaphylaxis' } }] }),
    vaccine('b', { reaction: [{ date: '2023-10-02' }] }),
    vaccine('c', { note: [{ text: 'Reaction: Fever' }] }),
    vaccine('d', { note: [{ text: 'Given at school' }] }),
  ]);
  expect(items.sort()).toEqual([
    'Vaccine a | 1 Oct 2023 (Reaction: Anaphylaxis)',
    'Vaccine b | 1 Oct 2023 (Reaction: not described, 2 Oct 2023)',
    'Vaccine c | 1 Oct 2023 (Reaction: Fever)',
    'Vaccine d | 1 Oct 2023',
  ]);

  const yearly = [2026, 2025, 2024, 2023, 2022].map((year) => ({
    ...vaccine(String(year), {
      vaccineCode: { text: 'Influenza' },
      reaction: year === 2022 ? [{ detail: { display: 'Anaphylaxis' } }] : [],
    }),
    occurrenceDateTime: `${year}-10-01`,
  }));
  expect((await blockOf('Immunizations', yearly)).items).toEqual([
    'Influenza | 5 doses: 1 Oct 2026; 1 Oct 2025; 1 Oct 2024; 1 Oct 2022 (Reaction: Anaphylaxis); earlier ones',
  ]);
});

test('a result comes with what its laboratory says beside it, shortened where it is long', async () => {
  const potassium = (note: string) => ({
    resourceType: 'Observation',
    id: 'k',
    status: 'final',
    category: category('laboratory'),
    effectiveDateTime: '2026-05-01',
    code: loinc('2823-3', 'Potassium'),
    valueQuantity: { value: 7.1, unit: 'mmol/L' },
    note: [{ text: note }],
  });
  const itemsWith = async (note: string) =>
    (await blockOf('Latest results', [potassium(note)])).items;
  expect(await itemsWith('Hemolyzed\nsample')).toEqual([
    'Potassium: 7.1 mmol/L | comment: Hemolyzed sample',
  ]);
  expect(await itemsWith('word '.repeat(40))).toEqual([
    `Potassium: 7.1 mmol/L | comment: ${'word '.repeat(16)}… (shortened)`,
  ]);
});

test('a drug that is to be taken from a day to come names that day', async () => {
  const order = (start: string) => ({
    resourceType: 'MedicationRequest',
    id: 'm',
    status: 'active',
    intent: 'order',
    authoredOn: '2026-11-01',
    medicationCodeableConcept: { text: 'Lisinopril' },
    dosageInstruction: [
      { text: 'daily', timing: { repeat: { boundsPeriod: { start } } } },
    ],
  });
  const detailWith = async (start: string) =>
    (await blockOf('Current medications', [order(start)])).items[0];
  expect(await detailWith('2026-11-01')).not.toContain('from');
  expect(await detailWith('2026-12-24')).toContain('from 24 Dec 2026');
});

test('a day that is still to come is marked, in the overview, in statements and in tables', async () => {
  const page = (
    await gather(
      renderHtml(
        partsOf(
          readerOf([
            PATIENT,
            {
              resourceType: 'Condition',
              id: 'c',
              code: { text: 'Gout' },
              onsetDateTime: '2031-01-12',
            },
            {
              resourceType: 'Immunization',
              id: 'i',
              status: 'completed',
              occurrenceDateTime: '2026-11-21',
            },
          ]),
        ),
      ),
    )
  ).join('');
  expect(page).toContain('since 12 Jan 2031 [in the future]');
  expect(page.match(/12 Jan 2031 \[in the future\]/g)).toHaveLength(2);
  expect(page).not.toContain('21 Nov 2026 [in');
});

test('the care team is those who are in it now, with their roles, and not the patient', async () => {
  const team = (id: string, rest: object) => ({
    resourceType: 'CareTeam',
    id,
    ...rest,
  });
  const member = (
    display: string,
    role: string,
    reference = 'Practitioner/1',
  ) => ({
    member: { display, reference },
    role: [{ text: role }],
  });
  const { items, rest } = await blockOf('Care team', [
    team('a', {
      status: 'active',
      name: 'Diabetes',
      participant: [
        member('Dr. Who', 'Physician'),
        member('Ann', 'Patient', 'Patient/1'),
      ],
    }),
    team('b', {
      status: 'inactive',
      participant: [member('Dr. No', 'Physician')],
    }),
  ]);
  expect(items).toEqual(['Dr. Who | Physician; Diabetes']);
  expect(rest).toBe('Not shown here: 1 past care team.');
});

test('a long list is cut visibly, and the rest is counted with a link to its section', async () => {
  const names = Array.from(
    { length: 23 },
    (_, index) => `Problem ${index} ${'x'.repeat(300)}`,
  );
  const conditions = names.map((text, id) => ({
    resourceType: 'Condition',
    id: `${id}`,
    code: { text },
  }));
  const reader = () => readerOf([PATIENT, ...conditions]);
  const { 'Active problems': block } = await blocksOf(reader());
  expect(block?.items).toHaveLength(20);
  expect(block?.items[0]?.text).toMatch(/x…$/);
  expect(block?.rest).toEqual({
    text: 'Not shown here: 3 active problems.',
    section: 'problems',
  });
  const page = (await gather(renderHtml(partsOf(reader())))).join('');
  expect(page).toContain(
    '<a href="#problems">Not shown here: 3 active problems.</a>',
  );
});

test('only blocks of the requested types are shown, and always what the sources delivered', async () => {
  const parts = await gather(
    partsOf(readerOf([PATIENT]), { types: ['AllergyIntolerance'] }),
  );
  const [overview] = parts.flatMap((part) =>
    part.kind === 'overview' ? [part.blocks] : [],
  );
  expect(overview?.map(({ title }) => title)).toEqual([
    'Allergies and intolerances',
    'Sources and completeness',
  ]);
});

test.each(samples.map(({ key }) => key))(
  'the overview of %s fits on the first page of the pdf',
  async (key) => {
    const head: Parameters<typeof renderPdf>[0] = (async function* () {
      for await (const part of partsOf(sampleReader(key))) {
        if (part.kind === 'section') return;
        yield part;
      }
    })();
    const document = Buffer.concat(await gather(renderPdf(head))).toString(
      'latin1',
    );
    expect(document.match(/\/Type \/Page\n/g)).toHaveLength(1);
  },
);

test('every encounter of a sample patient is in the overview or counted there', async () => {
  for (const { key } of samples) {
    const reader = sampleReader(key);
    const block = (await blocksOf(reader))[
      'Encounters: stays and emergencies first'
    ];
    const counted = [...(block?.rest?.text ?? '').matchAll(/(\d+) earlier/g)]
      .map(([, count]) => Number(count))
      .reduce((sum, count) => sum + count, 0);
    expect((block?.items.length ?? 0) + counted, key).toBe(
      reader.counts.Encounter ?? 0,
    );
  }
});

describe('what another entry says otherwise', () => {
  const warfarin = (id: string, status: string, authoredOn?: string) => ({
    resourceType: 'MedicationRequest',
    id,
    status,
    medicationCodeableConcept: { text: 'Warfarin' },
    ...(authoredOn && { authoredOn }),
  });
  const itemsOf = async (title: string, ...contents: object[]) =>
    (await blockOf(title, contents)).items;

  test('stands beside a current medication, unless it is earlier or only completed', async () => {
    const items = (...contents: object[]) =>
      itemsOf('Current medications', ...contents);
    const active = warfarin('a', 'active', '2026-03-01');
    expect(await items(active, warfarin('b', 'stopped', '2026-03-01'))).toEqual(
      ['Warfarin | ordered 1 Mar 2026; another entry says: stopped'],
    );
    expect(await items(active, warfarin('b', 'stopped'))).toEqual([
      'Warfarin | ordered 1 Mar 2026; another entry says: stopped',
    ]);
    expect(await items(active, warfarin('b', 'stopped', '2025-03-01'))).toEqual(
      ['Warfarin | ordered 1 Mar 2026'],
    );
    expect(
      await items(active, warfarin('b', 'completed', '2026-04-01')),
    ).toEqual(['Warfarin | ordered 1 Mar 2026']);
  });

  test('stands beside an active allergy and an active problem', async () => {
    const allergy = (id: string, rest: object) => ({
      resourceType: 'AllergyIntolerance',
      id,
      code: { text: 'Penicillin' },
      ...rest,
    });
    const refuted = {
      ...status('inactive'),
      verificationStatus: { coding: [{ code: 'refuted' }], text: 'Refuted' },
    };
    expect(
      await itemsOf(
        'Allergies and intolerances',
        allergy('a', status('active')),
        allergy('b', refuted),
      ),
    ).toEqual(['Penicillin | another entry says: inactive, refuted']);
    const unnamed = (id: string, rest: object) => ({
      ...allergy(id, rest),
      code: undefined,
    });
    const [of] = await itemsOf(
      'Allergies and intolerances',
      unnamed('a', status('active')),
      unnamed('b', refuted),
    );
    // Two entries without a name may be about different things.
    expect(of).not.toContain('another entry');
    const problem = (id: string, onsetDateTime: string, rest: object) => ({
      resourceType: 'Condition',
      id,
      code: { text: 'Bronchitis' },
      onsetDateTime,
      ...rest,
    });
    const active = problem('a', '2026-01-01', status('active'));
    expect(
      await itemsOf(
        'Active problems',
        active,
        problem('b', '2026-01-01', status('resolved')),
      ),
    ).toEqual(['Bronchitis | since 1 Jan 2026; another entry says: resolved']);
    // An earlier episode that is over.
    expect(
      await itemsOf(
        'Active problems',
        active,
        problem('b', '2020-01-01', status('resolved')),
      ),
    ).toEqual(['Bronchitis | since 1 Jan 2026']);
  });
});
