import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { drawTrend, ticks } from '../src/charts/chart.ts';
import type { Chart } from '../src/parts.ts';
import { renderHtml } from '../src/render-html.ts';
import { renderPdf } from '../src/render-pdf.ts';
import { property } from './property.ts';
import { gather, PATIENT, partsOf, recordWith } from './records.ts';

const LOINC = 'http://loinc.org';
let made = 0;
const nextId = (): string => {
  made += 1;
  return `o${made}`;
};
const result = (
  effectiveDateTime: string,
  value: number,
  rest: object = {},
) => ({
  resourceType: 'Observation',
  id: nextId(),
  status: 'final',
  category: [{ coding: [{ code: 'laboratory' }] }],
  code: { coding: [{ system: LOINC, code: '2160-0' }], text: 'Creatinine' },
  effectiveDateTime,
  valueQuantity: { value, unit: 'mg/dL' },
  ...rest,
});
const three = (rest: object = {}) => [
  result('2023-05-01', 1.1, rest),
  result('2024-05-01', 0.9, rest),
  result('2025-05-01', 1.4, rest),
];
const partsWith = (contents: readonly object[]) =>
  partsOf(recordWith([PATIENT, ...contents]));

async function chartsOf(contents: readonly object[]): Promise<Chart[]> {
  const parts = await gather(partsWith(contents));
  return parts.flatMap((part) => (part.kind === 'charts' ? part.charts : []));
}
const shapes = (chart: Chart | undefined, kind: string) =>
  (chart?.drawing.shapes ?? []).filter((shape) => shape.kind === kind);

describe('a chart', () => {
  test('shows the values of one code and unit over time, oldest first, each once', async () => {
    const [chart, ...others] = await chartsOf([
      ...three(),
      result('2025-05-01', 1.4),
    ]);
    expect(others).toEqual([]);
    expect(chart?.title).toBe('Creatinine (mg/dL)');
    expect(chart?.detail).toBe('Last: 1.4 on 1 May 2025');
    expect(chart?.description).toContain(
      '3 values from 1 May 2023 to 1 May 2025.',
    );
    expect(chart?.description).toContain('Lowest 0.9, highest 1.4.');
    const texts = shapes(chart, 'dot').map(
      (shape) => 'text' in shape && shape.text,
    );
    expect(texts).toEqual([
      '1.1, 1 May 2023',
      '0.9, 1 May 2024',
      '1.4, 1 May 2025',
    ]);
  });

  test.each([
    ['unit', { valueQuantity: { value: 97, unit: 'µmol/L' } }],
    [
      'code',
      {
        code: {
          coding: [{ system: LOINC, code: '38483-4' }],
          text: 'Creatinine',
        },
      },
    ],
    [
      'code system',
      {
        code: {
          coding: [{ system: 'urn:local', code: '2160-0' }],
          text: 'Creatinine',
        },
      },
    ],
  ])('has no value of another %s', async (_, rest) => {
    const [chart, ...others] = await chartsOf([
      ...three(),
      result('2026-05-01', 97, rest),
    ]);
    expect(others).toEqual([]);
    expect(shapes(chart, 'dot')).toHaveLength(3);
    expect(
      await chartsOf([
        ...three(),
        ...three(rest).map((each) => ({ ...each, ...rest })),
      ]),
    ).toHaveLength(2);
  });

  test('needs values of three times, and a code', async () => {
    expect(
      await chartsOf([
        result('2024-05-01', 1),
        result('2025-05-01', 2),
        result('2025-05-01', 3),
      ]),
    ).toEqual([]);
    expect(await chartsOf(three({ code: { text: 'Creatinine' } }))).toEqual([]);
  });

  test.each([
    ['retracted', { status: 'entered-in-error' }],
    ['preliminary', { status: 'preliminary' }],
    [
      'not exact',
      { valueQuantity: { value: 0.3, unit: 'mg/dL', comparator: '<' } },
    ],
    ['known to the year only', { effectiveDateTime: '2022' }],
    ['no measurement', { valueQuantity: { value: 1e300, unit: 'mg/dL' } }],
    ['undated', { effectiveDateTime: undefined }],
  ])('does not draw a value that is %s, and says so', async (_, rest) => {
    const [chart] = await chartsOf([...three(), result('2022-01-01', 9, rest)]);
    expect(shapes(chart, 'dot')).toHaveLength(3);
    expect(chart?.detail).toContain('1 value is not drawn');
  });

  test('draws the reference range that all values share, and none if they differ', async () => {
    const range = (high: number) => ({
      referenceRange: [
        {
          low: { value: 0.6, unit: 'mg/dL' },
          high: { value: high, unit: 'mg/dL' },
        },
      ],
    });
    const [same] = await chartsOf(three(range(1.2)));
    expect(shapes(same, 'band')).toHaveLength(1);
    expect(same?.detail).toContain('reference range 0.6 – 1.2');
    const [differing] = await chartsOf([
      ...three(range(1.2)),
      result('2026-01-01', 1, range(1.3)),
    ]);
    expect(shapes(differing, 'band')).toEqual([]);
    expect(differing?.detail).toContain('reference ranges differ');
  });

  test('marks abnormal values by shape and in words', async () => {
    const high = { interpretation: [{ coding: [{ code: 'H' }] }] };
    const [chart] = await chartsOf([...three(), result('2026-01-01', 2, high)]);
    expect(shapes(chart, 'diamond')).toHaveLength(1);
    expect(chart?.description).toContain('1 value is marked as abnormal.');
  });

  test('shows systolic and diastolic pressure as two named lines', async () => {
    const part = (code: string, value: number) => ({
      code: { coding: [{ system: LOINC, code }] },
      valueQuantity: { value, unit: 'mmHg' },
    });
    const pressure = (day: string, over: number, under: number) =>
      result(day, 0, {
        category: [{ coding: [{ code: 'vital-signs' }] }],
        code: { coding: [{ system: LOINC, code: '85354-9' }] },
        valueQuantity: undefined,
        component: [part('8480-6', over), part('8462-4', under)],
      });
    const [chart] = await chartsOf([
      pressure('2023-01-01', 120, 80),
      pressure('2024-01-01', 130, 85),
      pressure('2025-01-01', 125, 82),
    ]);
    expect(chart?.title).toBe('Blood pressure (mmHg)');
    expect(chart?.detail).toBe(
      'Last: Systolic 125, Diastolic 82 on 1 Jan 2025',
    );
    expect(
      [shapes(chart, 'line'), shapes(chart, 'second')].map(
        ({ length }) => length,
      ),
    ).toEqual([1, 1]);
  });
});

describe('in the forms', () => {
  test('html: a figure with a name and a description, all text escaped, and the table remains', async () => {
    const code = { coding: [{ system: LOINC, code: '1' }], text: '<b>"Test"' };
    const page = (await gather(renderHtml(partsWith(three({ code }))))).join(
      '',
    );
    expect(page).toContain(
      '<figure><figcaption><b dir="auto">&lt;b&gt;&quot;Test&quot; (mg/dL)</b>',
    );
    expect(page).toContain(
      'role="img" aria-labelledby="results-chart-1 results-chart-1-text"',
    );
    expect(page).toContain('<desc id="results-chart-1-text">3 values from');
    expect(page).toMatch(
      /<th scope="row"[^>]*>&lt;b&gt;&quot;Test&quot;<\/th>/,
    );
    expect(page).not.toMatch(/ style="(?!width)/);
  });

  test('pdf: a tagged figure with what it shows', async () => {
    const source = Buffer.concat(
      await gather(renderPdf(partsWith(three()))),
    ).toString('latin1');
    expect(source).toMatch(/\/S \/Figure/);
    expect(source).toMatch(
      /\/Alt \(Creatinine \\\(mg\/dL\\\)\. 3 values from 1 May 2023/,
    );
  });
});

const finite = fc.double({ min: -1e12, max: 1e12, noNaN: true });

property([finite, finite], {
  examples: [
    [999999.9999999986, 999999.9999999985],
    [0, 5e-324],
    [3, 3],
  ],
})('the marks of an axis enclose its values, and are few', (one, other) => {
  const low = Math.min(one, other);
  const high = Math.max(one, other);
  const marks = ticks(low, high);
  expect(marks.length).toBeGreaterThanOrEqual(2);
  expect(marks.length).toBeLessThanOrEqual(6);
  const slack = Math.max(Math.abs(low), Math.abs(high)) * 1e-6;
  expect(marks[0]).toBeLessThanOrEqual(low + slack);
  expect(marks.at(-1)).toBeGreaterThanOrEqual(high - slack);
});

property([
  fc.array(
    fc.record({ at: fc.integer({ min: 0, max: 4e12 }), value: finite }),
    { minLength: 1 },
  ),
])(
  'every value is drawn inside the picture, higher values not lower, later ones not further left',
  (values) => {
    const points = values
      .toSorted((left, right) => left.at - right.at)
      .map((each) => ({ ...each, day: '', isAlert: false }));
    const drawing = drawTrend([{ name: '', points }], undefined);
    const places = drawing.shapes.flatMap((shape) =>
      shape.kind === 'dot' ? [shape.at] : [],
    );
    expect(places).toHaveLength(points.length);
    for (const [index, [x, y]] of places.entries()) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(drawing.width);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(y).toBeLessThanOrEqual(drawing.height);
      const before = points[index - 1];
      const now = points[index];
      const [beforeX, beforeY] = places[index - 1] ?? [x, y];
      expect(x).toBeGreaterThanOrEqual(beforeX);
      if (before !== undefined && now !== undefined && now.value > before.value)
        expect(y).toBeLessThanOrEqual(beforeY);
    }
  },
);
