import { describe, expect, test } from 'vitest';
import { ipsSections } from '../../../../src/exchange/delivery/fhir-api/summary/ips-sections.ts';
import {
  gather,
  PATIENT,
  partsOf,
  readerOf,
  rowsOf,
} from '../../../support/summary-reader.ts';

// The summaries of these tests are made on 21 Nov 2026.
const MADE_AT = new Date('2026-11-21T12:00:00Z');

const LOINC = 'http://loinc.org';
const SNOMED = 'http://snomed.info/sct';
const coded = (code: string, text: string, system = LOINC) => ({
  coding: [{ system, code, display: text }],
  text,
});

let ids = 0;
function result(
  code: object,
  value: object | number,
  effectiveDateTime: string | undefined,
  more: object = {},
) {
  ids += 1;
  const isNumber = typeof value === 'number';
  return {
    resourceType: 'Observation',
    id: `o${ids}`,
    status: 'final',
    category: [{ coding: [{ code: 'laboratory' }] }],
    code,
    effectiveDateTime,
    ...(isNumber
      ? { valueQuantity: { value, unit: 'mg/dL' } }
      : { valueCodeableConcept: value }),
    ...more,
  };
}
const vital = (...args: Parameters<typeof result>) => ({
  ...result(...args),
  category: [{ coding: [{ code: 'vital-signs' }] }],
});

/** The items of the overview's block of results, or of vital signs. */
async function itemsOf(
  contents: readonly object[],
  title = 'Latest results',
): Promise<string[]> {
  for await (const part of partsOf(readerOf([PATIENT, ...contents])))
    if (part.kind === 'overview')
      return (
        part.blocks
          .find((block) => block.title.startsWith(title))
          ?.items.map(({ text, detail }) => [text, detail].join(' | ')) ?? []
      );
  throw new Error('the summary has no overview');
}

async function entriesOfIps(contents: readonly object[]): Promise<string[]> {
  const sections = await ipsSections(readerOf([PATIENT, ...contents]), MADE_AT);
  return sections.flatMap(({ entries }) => entries.map(({ id }) => id));
}

async function chartsOf(contents: readonly object[]): Promise<string[]> {
  const parts = await gather(partsOf(readerOf([PATIENT, ...contents])));
  return parts.flatMap((part) =>
    part.kind === 'charts' ? part.charts.map(({ title }) => title) : [],
  );
}

const GLUCOSE = coded('GLU', 'Glucose', 'urn:lab');
const BLOOD = {
  resourceType: 'Specimen',
  id: 'blood',
  type: { text: 'Blood' },
};
const CSF = {
  resourceType: 'Specimen',
  id: 'csf',
  type: coded('258450006', 'Cerebrospinal fluid specimen (specimen)', SNOMED),
};
const of = (id: string) => ({ specimen: { reference: `Specimen/${id}` } });

const ACUITY = coded('VA', 'Visual acuity letters', 'urn:eyes');
const leftEye = { bodySite: coded('8966001', 'Left eye structure', SNOMED) };
const rightEye = {
  bodySite: {
    coding: [
      { system: SNOMED, code: '81745001', display: 'Structure of eye' },
      { system: SNOMED, code: '24028007', display: 'Right' },
    ],
    text: 'Eye',
  },
};

describe('two things of one code are two', () => {
  const LYING = {
    extension: [
      {
        url: 'http://hl7.org/fhir/StructureDefinition/observation-bodyPosition',
        valueCodeableConcept: { text: 'Lying' },
      },
    ],
  };

  test.each([
    [
      'a specimen, also one that only the report states',
      [
        'Glucose (Cerebrospinal fluid): 21 mg/dL | ',
        'Glucose (Blood): 94 mg/dL | 1 Nov 2026',
      ],
      [
        BLOOD,
        CSF,
        {
          resourceType: 'DiagnosticReport',
          id: 'r',
          code: { text: 'CSF panel' },
          specimen: [{ reference: 'Specimen/csf' }],
          result: [{ reference: 'Observation/in-report' }],
        },
      ],
      [
        result(GLUCOSE, 94, '2026-11-01', of('blood')),
        { ...result(GLUCOSE, 21, '2026-11-02'), id: 'in-report' },
      ],
    ],
    [
      'a side, in the words or as a code of its own',
      [
        'Visual acuity letters (Eye, right): 14 mg/dL | ',
        'Visual acuity letters (Left eye structure): 34 mg/dL | 1 Nov 2026',
      ],
      [],
      [
        result(ACUITY, 34, '2026-11-01', leftEye),
        result(ACUITY, 14, '2026-11-02', rightEye),
      ],
    ],
    [
      'a position',
      ['Renin: 30 mg/dL | ', 'Renin (Lying): 12 mg/dL | 1 Nov 2026'],
      [],
      [
        result({ text: 'Renin' }, 12, '2026-11-01', LYING),
        result({ text: 'Renin' }, 30, '2026-11-02'),
      ],
    ],
  ])('%s', async (_, expected, others, results) => {
    expect(await itemsOf([...others, ...results])).toEqual(expected);
    expect(await entriesOfIps([...others, ...results])).toEqual(
      expect.arrayContaining(results.map(({ id }) => id)),
    );
  });

  test('an organism that the susceptibility is derived from, or is a member of', async () => {
    const organism = (id: string, name: string, members: string[] = []) => ({
      ...result(
        coded('600-7', 'Bacteria identified in Blood by Culture'),
        { text: name },
        '2026-11-01',
      ),
      id,
      ...(members.length > 0 && {
        hasMember: members.map((each) => ({
          reference: `Observation/${each}`,
        })),
      }),
    });
    const cipro = (id: string, value: number, more = {}) => ({
      ...result(coded('185-9', 'Ciprofloxacin'), value, '2026-11-02', more),
      id,
    });
    const contents = [
      organism('coli', 'Escherichia coli'),
      organism('klebsiella', 'Klebsiella pneumoniae', ['of-klebsiella']),
      cipro('of-coli', 0.25, {
        derivedFrom: [{ reference: 'Observation/coli' }],
      }),
      cipro('of-klebsiella', 4),
    ];
    expect(await itemsOf(contents)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('Ciprofloxacin (Escherichia coli): 0.25 mg/dL'),
        expect.stringContaining(
          'Ciprofloxacin (Klebsiella pneumoniae): 4 mg/dL',
        ),
        // Two findings of one time are no course.
        expect.stringMatching(
          /^Bacteria identified.*: (?:Escherichia coli and Klebsiella pneumoniae|Klebsiella pneumoniae and Escherichia coli) \|/,
        ),
      ]),
    );
    const rows = await rowsOf(contents, 'results');
    expect(rows.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'Ciprofloxacin (Escherichia coli)',
        'Ciprofloxacin (Klebsiella pneumoniae)',
      ]),
    );
    expect(await entriesOfIps(contents)).toEqual(
      expect.arrayContaining(['of-coli', 'of-klebsiella']),
    );
  });

  test('a method of measuring, where several were used', async () => {
    const TROPONIN = coded('TROP', 'Troponin I', 'urn:lab');
    const by = (text: string) => ({ method: { text } });
    expect(
      await itemsOf([
        result(TROPONIN, 12, '2026-11-02', by('Assay A')),
        result(TROPONIN, 0.4, '2026-11-01', by('Assay B')),
      ]),
    ).toEqual([
      expect.stringMatching(/^Troponin I \(Assay A\): 12 mg\/dL \| $/),
      expect.stringMatching(
        /^Troponin I \(Assay B\): 0.4 mg\/dL \| 1 Nov 2026$/,
      ),
    ]);
    expect(
      await itemsOf([result(TROPONIN, 12, '2026-11-02', by('Assay A'))]),
    ).toEqual(['Troponin I: 12 mg/dL | ']);
  });

  test('vital signs of two places, in the overview and in the flow sheet', async () => {
    const SPO2 = coded('59408-5', 'Oxygen saturation');
    const at = (text: string) => ({ bodySite: { text } });
    const contents = [
      vital(SPO2, 98, '2026-11-02T10:00:00Z', at('Right hand')),
      vital(SPO2, 91, '2026-11-02T10:00:00Z', at('Left foot')),
    ];
    const items = await itemsOf(contents, 'Last vital signs');
    expect(items.sort()).toEqual([
      'SpO2 (Left foot): 91 mg/dL | ',
      'SpO2 (Right hand): 98 mg/dL | ',
    ]);
    expect(await entriesOfIps(contents)).toHaveLength(2);
    const [row] = await rowsOf(contents, 'vital-signs');
    expect(row?.join()).toMatch(/98 mg\/dL \(Right hand\)/);
    expect(row?.join()).toMatch(/91 mg\/dL \(Left foot\)/);
  });

  test('no line is drawn across two things', async () => {
    const days = ['01', '02', '03', '04'].map((day) => `2026-11-${day}`);
    const contents = days.map((day, index) =>
      result(ACUITY, 30 + index, day, index % 2 === 0 ? leftEye : rightEye),
    );
    expect(await chartsOf(contents)).toEqual([]);
    const more = ['05', '06'].map((day) =>
      result(ACUITY, 40, `2026-11-${day}`, leftEye),
    );
    expect(await chartsOf([...contents, ...more])).toEqual([
      'Visual acuity letters (Left eye structure) (mg/dL)',
    ]);
  });
});

describe('a course needs two times', () => {
  const CULTURE = coded('600-7', 'Blood culture');
  const values = [{ text: 'Staphylococcus aureus' }, { text: 'No growth' }];

  test.each([
    ['of one draw', '2026-11-01T08:00:00Z', '2026-11-01T08:00:00Z'],
    [
      'of one day, of which one says no time',
      '2026-11-01T08:00:00Z',
      '2026-11-01',
    ],
    ['without times', undefined, undefined],
  ])('two results %s stand side by side', async (_, one, other) => {
    const contents = values.map((value, index) =>
      result(CULTURE, value, index === 0 ? one : other),
    );
    for (const given of [contents, contents.toReversed()]) {
      const [item = '', ...more] = await itemsOf(given);
      expect(more).toEqual([]);
      expect(item).toMatch(
        /^Blood culture: (?:Staphylococcus aureus and No growth|No growth and Staphylococcus aureus) \| $/,
      );
    }
  });

  test('both results of the time before are named', async () => {
    const contents = [
      ...values.map((value) => result(CULTURE, value, '2026-11-01T08:00:00Z')),
      result(CULTURE, { text: 'No growth' }, '2026-11-03T08:00:00Z'),
    ];
    const [item = ''] = await itemsOf(contents);
    expect(item).toMatch(/^Blood culture: No growth \| before: /);
    expect(item).toContain('Staphylococcus aureus');
    expect(item).toMatch(/ and .* on 1 Nov 2026$/);
  });

  test('what has no time is neither before nor after', async () => {
    const [item] = await itemsOf([
      result(GLUCOSE, 94, '2026-11-01'),
      result(GLUCOSE, 70, undefined),
    ]);
    expect(item).toBe('Glucose: 94 mg/dL | ');
  });
});
