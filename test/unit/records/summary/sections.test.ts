import { describe, expect, test } from 'vitest';
import { summaryEntry } from '#record-summary';
import { flagOf } from '../../../../packages/record-summary/src/observation.ts';
import type { ConsolidatedResource } from '../../../../src/exchange/records/reading/read-consolidated.ts';
import { forReaders } from '../../../../src/exchange/records/reading/record-reader.ts';
import { parseFhirJson } from '../../../../src/lib/written-decimals.ts';
import {
  gather,
  PATIENT,
  partsOf,
  readerOf,
  rowsOf,
  sampleReader,
} from '../../../support/summary-reader.ts';

const loinc = (code: string, text: string) => ({
  coding: [{ system: 'http://loinc.org', code }],
  text,
});
const category = (code: string) => [{ coding: [{ code }] }];
const result = (id: string, rest: object) => ({
  resourceType: 'Observation',
  id,
  status: 'final',
  category: category('laboratory'),
  effectiveDateTime: '2024-05-01T08:30:00-05:00',
  code: loinc('2345-7', 'Glucose'),
  ...rest,
});
const mgDl = (value: number) => ({ value, unit: 'mg/dL' });
const range = [{ low: mgDl(70), high: mgDl(99) }];

test('what is ordered or planned is a table of its own until it is done', async () => {
  const request = (id: string, rest: object) => ({
    resourceType: 'ServiceRequest',
    id,
    status: 'active',
    intent: 'order',
    code: { text: `Request ${id}` },
    ...rest,
  });
  const rows = await rowsOf(
    [
      request('a', { intent: 'plan', occurrenceDateTime: '2026-12-24' }),
      request('b', { bodySite: [{ text: 'Left knee' }] }),
      request('c', { doNotPerform: true }),
      request('d', { status: 'completed' }),
      request('e', { status: 'revoked' }),
    ],
    'procedures',
  );
  expect(rows.map(([, name, status]) => [name, status])).toEqual([
    ['Request a (planned only)', 'Active'],
    ['Request b (Left knee)', 'Active'],
    ['Request c (not to be done)', 'Active'],
    ['Request d', 'Completed'],
    ['Request e', 'Revoked'],
  ]);
});

describe('laboratory results', () => {
  test('are compared with a range without a unit, and with one in words', async () => {
    const flagIn = async (referenceRange: object[], value = 7.1) => {
      const valueQuantity = { value, unit: 'mmol/L' };
      const rows = await rowsOf(
        [result('a', { valueQuantity, referenceRange })],
        'results',
      );
      return rows[1]?.[4];
    };
    const bare = { low: { value: 3.5 }, high: { value: 5.1 } };
    expect(await flagIn([bare])).toBe('[High]');
    expect(await flagIn([bare], 3)).toBe('[Low]');
    expect(await flagIn([bare], 4)).toBe('–');
    for (const text of ['3.5-5.1', '3.5 – 5.1 mmol/L', '<= 5.1'])
      expect([text, await flagIn([{ text }])]).toEqual([text, '[High]']);
    for (const text of ['3.5-5.1 mg/dL', '3.5-5.1 (fasting)', 'below 5.1'])
      expect([text, await flagIn([{ text }])]).toEqual([text, '–']);
  });

  test('show a flag in words alone, and as one that alerts', async () => {
    const flagIn = async (text: string) => {
      const rows = await rowsOf(
        [result('a', { valueString: 'seen', interpretation: [{ text }] })],
        'results',
      );
      return rows[1]?.[4];
    };
    expect(await flagIn('Extreme High')).toBe('Extreme High');
    expect(await flagIn('Not abnormal')).toBe('Not abnormal');
    expect(
      flagOf({ interpretation: [{ text: 'Extreme High' }] }),
    ).toMatchObject({ isAlert: true });
    expect(
      flagOf({ interpretation: [{ text: 'Not abnormal' }] }),
    ).toMatchObject({ isAlert: false });
  });

  test('keep the last zeros of a value as it was written', async () => {
    const valueIn = async (written: string) => {
      const resource = parseFhirJson(
        JSON.stringify(result('a', { valueQuantity: mgDl(0) })).replace(
          '"value":0',
          `"value":${written}`,
        ),
      );
      const rows = await rowsOf([resource as object], 'results');
      return rows[1]?.[1];
    };
    for (const written of ['1.10', '7.0', '0.50', '-2.0', '5'])
      expect(await valueIn(written)).toBe(written);
    expect(await valueIn('1.23456780')).toBe('1.2346');
    expect(await valueIn('1E3')).toBe('1000');
  });

  test("carry the source's flag, else one in brackets that the range tells, else none", async () => {
    const flags = async (rest: object) =>
      (await rowsOf([result('a', rest)], 'results'))[1]?.[4];
    const valueQuantity = mgDl(180);
    const interpretation = (code: string) => [{ coding: [{ code }] }];
    expect(await flags({ valueQuantity, referenceRange: range })).toBe(
      '[High]',
    );
    expect(
      await flags({ valueQuantity: mgDl(50), referenceRange: range }),
    ).toBe('[Low]');
    expect(
      await flags({
        valueQuantity,
        referenceRange: range,
        interpretation: interpretation('HH'),
      }),
    ).toBe('Critically high');
    expect(
      await flags({
        valueQuantity,
        referenceRange: range,
        interpretation: interpretation('N'),
      }),
    ).toBe('Normal');
    // Another unit, a bound, or several ranges: for somebody who knows.
    expect(
      await flags({
        valueQuantity: { value: 180, unit: 'mmol/L' },
        referenceRange: range,
      }),
    ).toBe('–');
    expect(
      await flags({
        valueQuantity: { ...valueQuantity, comparator: '<' },
        referenceRange: range,
      }),
    ).toBe('–');
    expect(
      await flags({ valueQuantity, referenceRange: [...range, ...range] }),
    ).toBe('–');
  });

  test('of a donor or a fetus are none of the patient, and say whom they are about', async () => {
    const group = (id: string, rest: object) =>
      result(id, {
        code: loinc('882-1', 'ABO group'),
        valueString: 'AB',
        ...rest,
      });
    const donor = group('d', {
      focus: [{ display: 'Donor 17' }],
      status: 'preliminary',
    });
    const fetal = group('f', {
      focus: [{ reference: '#fetus' }],
      interpretation: [{ coding: [{ code: 'A' }] }],
    });
    expect(await rowsOf([donor, fetal], 'results')).toEqual([
      ['The sources have delivered no laboratory results.'],
    ]);
    expect(
      (await rowsOf([donor, fetal], 'observations'))
        .map((cells) => cells[1])
        .sort(),
    ).toEqual([
      'ABO group (about Donor 17, preliminary)',
      'ABO group (about another than the patient)',
    ]);
    for await (const part of partsOf(readerOf([PATIENT, fetal])))
      if (part.kind === 'overview')
        expect(
          JSON.stringify(part.blocks.map(({ items }) => items)),
        ).not.toContain('ABO');
  });

  test('lose no digit before the point', async () => {
    const shown = async (number: number) =>
      (
        await rowsOf(
          [
            result('a', {
              valueQuantity: { value: number, unit: 'copies/mL' },
            }),
          ],
          'results',
        )
      )[1]?.[1];
    expect(await shown(123456.7)).toBe('123457');
    expect(await shown(1234567)).toBe('1234567');
    expect(await shown(12.345678)).toBe('12.346');
  });

  test('stand under their moment and report, in its order, with the time as the source wrote it', async () => {
    const report = {
      resourceType: 'DiagnosticReport',
      id: 'r',
      code: { text: 'Metabolic panel' },
      result: [
        { reference: 'Observation/second' },
        { reference: 'Observation/first' },
      ],
    };
    const rows = await rowsOf(
      [
        report,
        result('alone', { valueString: 'clear' }),
        result('first', { valueQuantity: mgDl(90.123456) }),
        result('second', { valueQuantity: mgDl(80), status: 'preliminary' }),
        result('old', {
          valueQuantity: mgDl(70),
          effectiveDateTime: '2023-01-02',
        }),
      ],
      'results',
    );
    expect(rows.map((cells) => cells.slice(0, 3))).toEqual([
      ['1 May 2024, 08:30 UTC-05:00 · Metabolic panel'],
      ['Glucose (preliminary)', '80', 'mg/dL'],
      ['Glucose', '90.123', 'mg/dL'],
      ['1 May 2024, 08:30 UTC-05:00'],
      ['Glucose', 'clear', '–'],
      ['2 Jan 2023'],
      ['Glucose', '70', 'mg/dL'],
    ]);
  });
});

test('vital signs of one moment are one line; what has no column is named', async () => {
  const vital = (id: string, code: string, rest: object) =>
    result(id, {
      category: category('vital-signs'),
      code: loinc(code, `of ${code}`),
      ...rest,
    });
  const rows = await rowsOf(
    [
      vital('a', '85354-9', {
        component: [
          {
            code: loinc('8480-6', 'Systolic'),
            valueQuantity: { value: 128, unit: 'mm[Hg]' },
          },
          {
            code: loinc('8462-4', 'Diastolic'),
            valueQuantity: { value: 81, unit: 'mm[Hg]' },
          },
        ],
      }),
      vital('b', '8867-4', { valueQuantity: { value: 72, unit: '/min' } }),
      vital('c', '29463-7', { valueQuantity: { value: 150, unit: '[lb_av]' } }),
      vital('d', '72514-3', { valueQuantity: { value: 2, unit: '{score}' } }),
    ],
    'vital-signs',
  );
  const moment = '1 May 2024, 08:30 UTC-05:00';
  expect(rows).toEqual([
    [
      moment,
      '128/81',
      '72',
      '–',
      '–',
      '–',
      '–',
      '150 lb',
      '–',
      'of 72514-3: 2 score',
      'HIE',
    ],
  ]);
});

test('what was taken back says so, and stands in no column of vital signs', async () => {
  const status = 'entered-in-error';
  const observation = (id: string, kind: string) =>
    result(id, {
      status,
      category: category(kind),
      code: loinc('8867-4', 'Pulse'),
      valueQuantity: { value: 7, unit: '/min' },
    });
  const observations = ['laboratory', 'vital-signs', 'survey'].map((kind) =>
    observation(kind, kind),
  );
  expect((await rowsOf(observations, 'results'))[1]?.[0]).toBe(
    'Pulse (entered in error)',
  );
  const [vital] = await rowsOf(observations, 'vital-signs');
  expect([vital?.[2], vital?.[9]]).toEqual([
    '–',
    'Pulse (entered in error): 7 /min',
  ]);
  expect((await rowsOf(observations, 'observations'))[0]?.[1]).toBe(
    'Pulse (entered in error)',
  );
  const allergy = {
    resourceType: 'AllergyIntolerance',
    id: 'a',
    code: { text: 'Penicillin' },
    verificationStatus: { coding: [{ code: 'refuted' }] },
  };
  expect((await rowsOf([allergy], 'allergies'))[0]?.[3]).toBe('Refuted');
});

describe('problems and medications', () => {
  test('are told apart by whether they go on; doubtful ones say so', async () => {
    const condition = (id: string, rest: object) => ({
      resourceType: 'Condition',
      id,
      code: { text: `${id} (disorder)` },
      ...rest,
    });
    const rows = await rowsOf(
      [
        condition('Anemia', { onsetDateTime: '2019-03' }),
        condition('Asthma', {
          clinicalStatus: { coding: [{ code: 'resolved' }] },
        }),
        condition('Gout', {
          verificationStatus: { coding: [{ code: 'entered-in-error' }] },
        }),
        condition('Flu', { abatementDateTime: '2020-01-09' }),
      ],
      'problems',
    );
    expect(rows[0]).toEqual(['Anemia', 'Mar 2019', '–', '–', 'HIE']);
    expect(
      rows
        .slice(1)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['Asthma', 'Flu', 'Gout']);
    expect(rows.find(([name]) => name === 'Gout')?.[3]).toBe(
      'Entered in error',
    );
  });

  test('whose end is still to come goes on', async () => {
    const captions: string[] = [];
    const asthma = (end: object) =>
      readerOf([
        PATIENT,
        {
          resourceType: 'Condition',
          id: 'a',
          code: { text: 'Asthma' },
          ...end,
        },
      ]);
    for (const end of [
      { abatementDateTime: '9999-12-31' },
      { abatementPeriod: { end: '2999' } },
      { abatementDateTime: '2020' },
      { abatementPeriod: { start: '2020' } },
      { abatementString: 'as a child' },
    ])
      for await (const part of partsOf(asthma(end)))
        if (part.kind === 'table' && part.caption.endsWith('problems'))
          captions.push(part.caption);
    expect(captions).toEqual([
      'Active problems',
      'Active problems',
      'Past problems',
      'Past problems',
      'Past problems',
    ]);
  });

  test('names the medication that is only referred to, and says how to take it', async () => {
    const rows = await rowsOf(
      [
        {
          resourceType: 'Medication',
          id: 'm',
          code: { text: 'Metformin 500 MG' },
        },
        {
          resourceType: 'MedicationRequest',
          id: 'a',
          status: 'active',
          medicationReference: { reference: 'Medication/m' },
          authoredOn: '2024-05-01',
          dosageInstruction: [
            {
              doseAndRate: [{ doseQuantity: { value: 1, unit: 'tablet' } }],
              timing: { repeat: { frequency: 2, period: 1, periodUnit: 'd' } },
            },
          ],
        },
      ],
      'medications',
    );
    expect(rows).toEqual([
      [
        'Metformin 500 MG',
        '1 tablet twice a day',
        '1 May 2024',
        '–',
        'Active',
        '–',
        '–',
        'HIE',
      ],
    ]);
  });
});

test('a section without anything says so, and not that there is nothing', async () => {
  expect(await rowsOf([], 'allergies')).toEqual([
    [
      'The sources have delivered no allergies; that does not mean that there are none.',
    ],
  ]);
});

test('what has no section is told at the end with its count', async () => {
  const claim = { resourceType: 'Claim', id: 'c' };
  expect(await rowsOf([claim, claim], 'rest')).toEqual([
    ['The FHIR Bundle of this record (json) also contains: Claim (2).'],
  ]);
});

test('an origin names a source once, with the newest document that says the same', () => {
  const origin = (source: string, statedOn?: string) => ({
    source,
    isConverted: statedOn !== undefined,
    statedOn,
  });
  const textOf = (...origins: object[]) =>
    summaryEntry(
      forReaders({ content: {}, origins } as unknown as ConsolidatedResource),
    ).origin;
  expect(
    textOf(
      origin('hie'),
      origin('hie', '2025-03-01'),
      origin('hie', '2026-03-04'),
      origin('lab'),
    ),
  ).toBe('HIE (also document of 4 Mar 2026), Laboratory');
  expect(textOf(origin('hie', '2026-03-04'), origin('pharmacy'))).toBe(
    'HIE (document of 4 Mar 2026), Pharmacy',
  );
});

test('a day that its origin states is not repeated in a statement of absence', async () => {
  const none = {
    resourceType: 'AllergyIntolerance',
    id: 'n',
    recordedDate: '2026-03-04',
    code: { text: 'NKDA' },
  };
  const reader = readerOf([PATIENT, none]);
  const read = reader.read;
  reader.read = async function* (types) {
    for await (const each of read(types))
      yield {
        ...each,
        origins: each.origins.map((one) => ({
          ...one,
          isConverted: true,
          statedOn: '2026-03-04',
        })),
      };
  };
  const notes = (await gather(partsOf(reader))).flatMap((part) =>
    part.kind === 'note' ? [part.text] : [],
  );
  expect(notes).toContain('NKDA, stated by HIE (document of 4 Mar 2026).');
});

test('a filter shows its sections only, and says what was asked for', async () => {
  const parts = await gather(
    partsOf(readerOf([PATIENT]), {
      types: ['Condition'],
      dateFrom: '2024-01-01',
      dateTo: '2024-06-30',
    }),
  );
  expect(
    parts.flatMap((part) => (part.kind === 'section' ? [part.id] : [])),
  ).toEqual(['problems', 'social-findings']);
  expect(parts[0]).toMatchObject({
    head: {
      patient: { name: 'Ann Marie Sample', born: '5 Apr 1980' },
      facts: expect.arrayContaining([
        {
          label: 'Contains only',
          value:
            'Condition; entries dated from 1 Jan 2024 to 30 Jun 2024, and undated ones',
        },
      ]),
    },
  });
});

test('nothing of a sample patient is left out: each resource is in a row, behind a name, or counted at the end', async () => {
  const reader = sampleReader('tamica-murazik');
  const shown = { Observation: 0, Procedure: 0, Encounter: 0, Condition: 0 };
  const sections: Record<string, keyof typeof shown> = {
    results: 'Observation',
    observations: 'Observation',
    procedures: 'Procedure',
    encounters: 'Encounter',
    problems: 'Condition',
    'social-findings': 'Condition',
  };
  let section = '';
  for await (const part of partsOf(reader)) {
    if (part.kind === 'section') section = part.id;
    const type = sections[section];
    if (part.kind === 'row' && type !== undefined) shown[type] += 1;
  }
  const {
    Observation: observations = 0,
    Procedure,
    Encounter,
    Condition,
  } = reader.counts;
  expect(shown).toMatchObject({ Procedure, Encounter, Condition });
  let vitals = 0;
  for await (const { content } of reader.read(['Observation']))
    if (JSON.stringify(content).includes('"vital-signs"')) vitals += 1;
  expect(shown.Observation + vitals).toBeGreaterThanOrEqual(observations);
});

test('what was entered in error or cancelled says so in every table', async () => {
  const relative = (id: string, status: string) => ({
    resourceType: 'FamilyMemberHistory',
    id,
    status,
    relationship: { text: id },
    condition: [{ code: { text: 'Breast cancer' } }],
  });
  const background = [
    relative('Mother', 'entered-in-error'),
    relative('Aunt', 'completed'),
    {
      resourceType: 'Coverage',
      id: 'c',
      status: 'cancelled',
      payor: [{ display: 'Acme' }],
    },
    {
      resourceType: 'Coverage',
      id: 'd',
      status: 'active',
      payor: [{ display: 'Bell' }],
    },
  ];
  const rows = await rowsOf(background, 'background');
  expect(
    rows
      .map((cells) => [
        cells[0],
        cells.find((cell) => /Entered|Cancelled/.test(cell)) ?? '–',
      ])
      .sort(),
  ).toEqual([
    ['Acme', 'Cancelled'],
    ['Aunt', '–'],
    ['Bell', '–'],
    ['Mother', 'Entered in error'],
  ]);
  const study = {
    resourceType: 'ImagingStudy',
    id: 's',
    started: '2024-05-01',
    description: 'CT',
  };
  expect(
    await rowsOf([{ ...study, status: 'entered-in-error' }], 'reports'),
  ).toMatchObject([expect.arrayContaining(['Entered in error'])]);
});

describe('that there is none', () => {
  const SNOMED = 'http://snomed.info/sct';
  const allergy = (id: string, rest: object) => ({
    resourceType: 'AllergyIntolerance',
    id,
    ...rest,
  });
  const noneKnown = (id: string, code: string, rest: object = {}) =>
    allergy(id, {
      code: { coding: [{ system: SNOMED, code }] },
      recordedDate: '2024-03-07',
      ...rest,
    });
  const penicillin = allergy('p', {
    code: { text: 'Penicillin' },
    category: ['medication'],
  });

  test('is a statement of its source on its day, and no row; that nothing came is something else', async () => {
    expect(await rowsOf([noneKnown('a', '716186003')], 'allergies')).toEqual([
      ['No known allergies, stated by HIE, 7 Mar 2024.'],
    ]);
    expect(
      await rowsOf(
        [noneKnown('a', '409137002', { recordedDate: undefined })],
        'allergies',
      ),
    ).toEqual([['No known drug allergies, stated by HIE, undated.']]);
    expect((await rowsOf([], 'allergies'))[0]?.[0]).toMatch(
      /delivered no allergies; that does not mean/,
    );
  });

  test('and that there is one are both shown, what is there first, and that they contradict each other', async () => {
    const rows = await rowsOf(
      [noneKnown('a', '716186003'), penicillin],
      'allergies',
    );
    expect(rows.map(([first]) => first)).toEqual([
      'Penicillin',
      'No known allergies, stated by HIE, 7 Mar 2024. This contradicts the allergies listed above.',
    ]);
    const contradicted = async (code: string, other: object) =>
      (await rowsOf([noneKnown('a', code), other], 'allergies'))
        .at(-1)?.[0]
        ?.includes('contradicts');
    expect(await contradicted('409137002', penicillin)).toBe(true);
    expect(await contradicted('429625007', penicillin)).toBe(false);
    expect(
      await contradicted('716186003', {
        ...penicillin,
        verificationStatus: { coding: [{ code: 'refuted' }] },
      }),
    ).toBe(false);
  });

  test('is understood in every form that FHIR has for it, and in no other', async () => {
    const list = (code: string, emptyReason: object) => ({
      resourceType: 'List',
      id: 'l',
      status: 'current',
      date: '2024-05-01',
      code: { coding: [{ code }] },
      emptyReason,
    });
    const nilknown = { coding: [{ code: 'nilknown' }] };
    expect(await rowsOf([list('10160-0', nilknown)], 'medications')).toEqual([
      ['No current medications, stated by HIE, 1 May 2024.'],
    ]);
    expect(
      await rowsOf(
        [list('allergies', { coding: [{ code: 'notasked' }] })],
        'allergies',
      ),
    ).toEqual([
      ['No information on allergies: not asked, stated by HIE, 1 May 2024.'],
    ]);
    expect(
      await rowsOf([list('48765-2', { text: 'None seen' })], 'allergies'),
    ).toEqual([
      [
        'The list of allergies is empty, stated by HIE, 1 May 2024. The source wrote: “None seen.”',
      ],
    ]);
    const composition = {
      resourceType: 'Composition',
      id: 'c',
      date: '2024-05-02',
      section: [
        {
          section: [
            { code: { coding: [{ code: '11450-4' }] }, emptyReason: nilknown },
          ],
        },
      ],
    };
    expect(await rowsOf([composition], 'problems')).toEqual([
      ['No known problems, stated by HIE, 2 May 2024.'],
    ]);
    const unknown = {
      coding: [
        {
          system: 'http://terminology.hl7.org/CodeSystem/data-absent-reason',
          code: 'unknown',
        },
      ],
    };
    expect(
      await rowsOf([allergy('u', { code: unknown })], 'allergies'),
    ).toEqual([['No information on allergies, stated by HIE, undated.']]);
    expect(
      await rowsOf([allergy('t', { code: { text: 'NKDA' } })], 'allergies'),
    ).toEqual([['NKDA, stated by HIE, undated.']]);
    for (const text of [
      'None',
      'Denies any known allergies',
      'No known allergies to medications',
    ])
      expect(
        await rowsOf([allergy('w', { code: { text } })], 'allergies'),
      ).toEqual([[`${text}, stated by HIE, undated.`]]);
    const own = {
      system: 'urn:of-a-hospital',
      code: 'NKDA',
      display: 'No Known Drug Allergies',
    };
    expect(
      (
        await rowsOf(
          [allergy('o', { code: { coding: [own], text: own.display } })],
          'allergies',
        )
      )[0],
    ).toEqual(['No Known Drug Allergies, stated by HIE, undated.']);
    for (const text of [
      'No known reaction to nuts',
      'Denies allergies, but had hives after fish',
    ])
      expect(
        (await rowsOf([allergy('n', { code: { text } })], 'allergies'))[0],
      ).toHaveLength(7);
    const refuted = { verificationStatus: { coding: [{ code: 'refuted' }] } };
    expect(
      (
        await rowsOf([noneKnown('a', '716186003', refuted)], 'allergies')
      )[0]?.[3],
    ).toBe('Refuted');
  });
});

test('what says nothing is no line, wherever it stands; what says why it says nothing is one', async () => {
  const bare = (id: string, kind: string, rest: object = {}) =>
    result(id, {
      category: category(kind),
      effectiveDateTime: '2031-05-01',
      code: { text: 'Vital signs' },
      ...rest,
    });
  const panel = { hasMember: [{ reference: 'Observation/x' }] };
  for (const kind of ['laboratory', 'vital-signs', 'survey']) {
    const section =
      {
        laboratory: 'results',
        'vital-signs': 'vital-signs',
        survey: 'observations',
      }[kind] ?? '';
    const rows = await rowsOf(
      [bare('a', kind), bare('b', kind, panel)],
      section,
    );
    expect(rows.map((cells) => cells.length)).toEqual([1]);
    expect(rows[0]?.[0]).toMatch(/^The sources have delivered no/);
    const absent = { dataAbsentReason: { text: 'refused' } };
    expect(
      JSON.stringify(await rowsOf([bare('c', kind, absent)], section)),
    ).toContain('No value: refused');
    expect(
      JSON.stringify(
        await rowsOf([bare('d', kind, { status: 'cancelled' })], section),
      ),
    ).toContain('cancelled');
  }
  const report = {
    resourceType: 'DiagnosticReport',
    id: 'r',
    status: 'final',
    code: { text: 'Panel' },
    issued: '2031-01-01',
  };
  expect(await rowsOf([report], 'reports')).toEqual([
    ['The sources have delivered no reports.'],
  ]);
  expect(
    await rowsOf([{ ...report, conclusion: 'Fine' }], 'reports'),
  ).toHaveLength(1);
  const procedure = {
    resourceType: 'Procedure',
    id: 'p',
    status: 'completed',
    performedDateTime: '2031-01-01',
    code: {},
  };
  expect(await rowsOf([procedure], 'procedures')).toEqual([
    ['The sources have delivered no procedures.'],
  ]);
});

describe('circumstances', () => {
  const condition = (name: string, rest: object = {}) => ({
    resourceType: 'Condition',
    id: name,
    code: {
      text: name,
      coding: [{ system: 'http://snomed.info/sct', code: name, display: name }],
    },
    ...rest,
  });
  const social = [
    'Part-time employment (finding)',
    'Has a criminal record (finding)',
    'Limited social contact (finding)',
    'Medication review due (situation)',
    'Refugee (person)',
  ];
  const clinical = [
    'Chronic pain (finding)',
    'Suspected lung cancer (situation)',
    'History of myocardial infarction (situation)',
    'Prediabetes',
    'Acute stress disorder (disorder)',
    'Stress fracture (disorder)',
  ];

  test('stand in a section of their own, and never among problems; in doubt a finding is a problem', async () => {
    const all = [...social, ...clinical].map((name) => condition(name));
    const names = async (section: string) =>
      (await rowsOf(all, section)).map(([name]) => name).sort();
    const plain = (list: readonly string[]) =>
      list.map((name) => name.replace(/ \([a-z]+\)$/, '')).sort();
    expect(await names('social-findings')).toEqual(plain(social));
    expect(await names('problems')).toEqual(plain(clinical));
  });

  test('are also known by category and ICD-10; a disorder stays one', async () => {
    const concern = (code: string) => ({ category: [{ coding: [{ code }] }] });
    const names = async (all: object[]) =>
      (await rowsOf(all, 'social-findings')).map(([name]) => name);
    expect(await names([condition('Food scarce', concern('sdoh'))])).toEqual([
      'Food scarce',
    ]);
    expect(
      await names([condition('Homelessness', concern('health-concern'))]),
    ).toEqual(['Homelessness']);
    const icd = {
      code: {
        text: 'Z59',
        coding: [
          { system: 'http://hl7.org/fhir/sid/icd-10-cm', code: 'Z59.0' },
        ],
      },
    };
    expect(await names([condition('x', icd)])).toEqual(['Z59']);
    expect(
      await rowsOf(
        [
          condition('Asthma (disorder)', concern('sdoh')),
          condition('Gout', concern('health-concern')),
        ],
        'problems',
      ),
    ).toHaveLength(2);
  });
});

test('a diagnosis at an encounter is not an active problem unless a source says so', async () => {
  const diagnosis = (id: string, rest: object) => ({
    resourceType: 'Condition',
    id,
    code: { text: id },
    category: category('encounter-diagnosis'),
    onsetDateTime: '2012-01-01',
    ...rest,
  });
  const clinicalStatus = { coding: [{ code: 'active' }], text: 'Active' };
  const contents = [
    diagnosis('Pneumonia', {}),
    diagnosis('Asthma', { clinicalStatus }),
    diagnosis('Fracture', { abatementDateTime: '2012-03-01' }),
  ];
  const shown = (
    await gather(partsOf(readerOf([PATIENT, ...contents])))
  ).flatMap((part) =>
    part.kind === 'table'
      ? [part.caption]
      : part.kind === 'row' &&
          ['Pneumonia', 'Asthma', 'Fracture'].includes(
            part.cells[0]?.text ?? '',
          )
        ? [part.cells[0]?.text]
        : [],
  );
  const from = shown.indexOf('Active problems');
  expect(shown.slice(from, from + 6)).toEqual([
    'Active problems',
    'Asthma',
    'Past problems',
    'Fracture',
    'Diagnoses at encounters, of which the sources do not say whether they are active',
    'Pneumonia',
  ]);
});

test('a medication that is only planned says so; one that the patient reports to take does not', async () => {
  const request = (id: string, rest: object) => ({
    resourceType: 'MedicationRequest',
    id,
    status: 'active',
    medicationCodeableConcept: { text: id },
    ...rest,
  });
  const rows = await rowsOf(
    [
      request('Aspirin', { intent: 'plan' }),
      request('Ibuprofen', { intent: 'plan', reportedBoolean: true }),
      request('Naproxen', { intent: 'order' }),
    ],
    'medications',
  );
  expect(rows.map((cells) => [cells[0], cells[4]]).sort()).toEqual([
    ['Aspirin', 'Active, planned only'],
    ['Ibuprofen', 'Active'],
    ['Naproxen', 'Active'],
  ]);
});
