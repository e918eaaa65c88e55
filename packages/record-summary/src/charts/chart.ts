import { countText } from '../count-text.ts';
import { numberText } from '../fhir/words.ts';
import type { Chart, Drawing, PdfPoint, Shape } from '../parts.ts';
import type { Point, Trend } from './trend.ts';

/**
 * Fewer values need no picture: the overview compares the last with the one
 * before.
 */
const TIMES_MIN = 3;
/** Per section: more than two pages of pictures would hide the tables. */
const CHARTS_MAX = 24;

/**
 * The charts of a section, most recently measured first, and what a reader must
 * know about those that are missing.
 */
export function chartsOf(trends: readonly Trend[]): {
  charts: Chart[];
  note?: string;
} {
  const drawable = trends.filter(({ lines }) =>
    [...lines.values()].some(
      (points) => new Set(points.map(({ at }) => at)).size >= TIMES_MIN,
    ),
  );
  const charts = drawable.slice(0, CHARTS_MAX).map(chartOf);
  const missing = drawable.length - charts.length;
  return {
    charts,
    ...(missing > 0 && {
      note: `${countText(missing, 'further chart is', 'further charts are')} not drawn; the table has all values.`,
    }),
  };
}

function chartOf(trend: Trend): Chart {
  const { name, unit, notDrawn } = trend;
  const lines = [...trend.lines].map(([line, points]) => ({
    name: line,
    points: points.toSorted((left, right) => left.at - right.at),
  }));
  const all = lines
    .flatMap(({ points }) => points)
    .sort((left, right) => left.at - right.at);
  const range = commonRange(all);
  const first = all[0];
  const last = all.at(-1);
  const values = all.map(({ value }) => value);
  const newest = lines.flatMap(({ name: line, points }) => {
    const value = numberText(points.at(-1)?.value);
    return value === undefined ? [] : [`${line} ${value}`.trim()];
  });
  const left =
    notDrawn === 0
      ? ''
      : ` ${countText(notDrawn, 'value is', 'values are')} not drawn: not final, no plain number, or no day.`;
  const period = `${first?.day} to ${last?.day}`;
  const alerts = all.filter(({ isAlert }) => isAlert).length;
  return {
    title: unit === '' ? name : `${name} (${unit})`,
    detail: `Last: ${newest.join(', ')} on ${last?.day}${rangeNote(range)}${left === '' ? '' : `.${left}`}`,
    description: [
      `${countText(all.length, 'value')} from ${period}.`,
      `Last: ${newest.join(', ')}. Lowest ${numberText(Math.min(...values))}, highest ${numberText(Math.max(...values))}.`,
      alerts === 0
        ? ''
        : `${countText(alerts, 'value is', 'values are')} marked as abnormal.`,
      'The table has every value.',
    ]
      .filter(Boolean)
      .join(' '),
    drawing: drawTrend(lines, range === 'several' ? undefined : range),
  };
}

type Range = NonNullable<Point['range']>;

/**
 * The reference range of all values that have one; `several` if they differ,
 * because no single one holds for all values.
 */
function commonRange(points: readonly Point[]): Range | 'several' | undefined {
  const ranges = points.flatMap(({ range }) => range ?? []);
  const [first] = ranges;
  if (first === undefined) return undefined;
  return ranges.every(
    ({ low, high }) => low === first.low && high === first.high,
  )
    ? first
    : 'several';
}

function rangeNote(range: Range | 'several' | undefined): string {
  if (range === undefined) return '';
  if (range === 'several') return '; reference ranges differ, so none is drawn';
  const low = numberText(range.low);
  const high = numberText(range.high);
  if (low !== undefined && high !== undefined)
    return `; reference range ${low} – ${high}`;
  return low !== undefined
    ? `; reference range ≥ ${low}`
    : `; reference range ≤ ${high}`;
}

const WIDTH = 240;
const HEIGHT = 112;
const TOP = 6;
const BOTTOM = HEIGHT - 16;
const LEFT = 34;
const RIGHT = WIDTH - 8;
/** Room for the names of lines. */
const NAMES = 44;
/** From a label's baseline up to its middle. */
const MIDDLE = 3;

/**
 * Draws lines of points, oldest first, over one time axis; the value axis need
 * not begin at zero.
 */
export function drawTrend(
  lines: readonly { name: string; points: readonly Point[] }[],
  range: { low?: number; high?: number } | undefined,
): Drawing {
  const all = lines.flatMap(({ points }) => points);
  const right = lines.length > 1 ? RIGHT - NAMES : RIGHT;
  const times = all.map(({ at }) => at);
  const start = Math.min(...times);
  const end = Math.max(...times);
  const bounds = [
    ...all.map(({ value }) => value),
    ...[range?.low, range?.high].filter((bound) => bound !== undefined),
  ];
  const marks = ticks(Math.min(...bounds), Math.max(...bounds));
  const bottom = marks[0] ?? 0;
  const top = marks.at(-1) ?? 1;
  const x = (at: number): number =>
    round(LEFT + ((at - start) / (end - start || 1)) * (right - LEFT));
  const y = (value: number): number =>
    round(BOTTOM - ((value - bottom) / (top - bottom)) * (BOTTOM - TOP));
  const first = all.find(({ at }) => at === start);
  const last = all.find(({ at }) => at === end);
  return {
    width: WIDTH,
    height: HEIGHT,
    shapes: [
      ...bandOf(range, { y, right, bottom, top }),
      ...marks.flatMap((mark): Shape[] => [
        {
          kind: 'grid',
          points: [
            [LEFT, y(mark)],
            [right, y(mark)],
          ],
        },
        {
          kind: 'label',
          at: [LEFT - 4, y(mark) + MIDDLE],
          text: numberText(mark) ?? '',
          align: 'end',
        },
      ]),
      {
        kind: 'label',
        at: [LEFT, HEIGHT - 4],
        text: first?.day ?? '',
        align: 'start',
      },
      {
        kind: 'label',
        at: [right, HEIGHT - 4],
        text: last?.day ?? '',
        align: 'end',
      },
      ...lines.flatMap(({ name, points }, index) =>
        lineShapes(name, points, index, { x, y }),
      ),
    ],
  };
}

function bandOf(
  range: { low?: number; high?: number } | undefined,
  {
    y,
    right,
    bottom,
    top,
  }: {
    y: (value: number) => number;
    right: number;
    bottom: number;
    top: number;
  },
): Shape[] {
  if (range === undefined) return [];
  const upper = y(range.high ?? top);
  return [
    {
      kind: 'band',
      x: LEFT,
      y: upper,
      width: right - LEFT,
      height: round(y(range.low ?? bottom) - upper),
    },
  ];
}

function lineShapes(
  name: string,
  points: readonly Point[],
  index: number,
  { x, y }: { x: (at: number) => number; y: (value: number) => number },
): Shape[] {
  const place = ({ at, value }: Point): PdfPoint => [x(at), y(value)];
  const last = points.at(-1);
  return [
    { kind: index === 0 ? 'line' : 'second', points: points.map(place) },
    ...points.map(
      (point): Shape => ({
        kind: point.isAlert ? 'diamond' : index === 0 ? 'dot' : 'ring',
        at: place(point),
        text: `${name} ${numberText(point.value)}, ${point.day}`.trim(),
      }),
    ),
    ...(name === '' || last === undefined
      ? []
      : [
          {
            kind: 'label',
            at: [x(last.at) + 5, y(last.value) + MIDDLE],
            text: name,
            align: 'start',
          } as const,
        ]),
  ];
}

const round = (value: number): number => Math.round(value * 10) / 10;

/**
 * Round numbers, evenly spaced, from at or below `low` to at or above `high`:
 * the labels of an axis.
 *
 * @param intervals about how many intervals
 */
export function ticks(low: number, high: number, intervals = 3): number[] {
  const size = Math.max(Math.abs(low), Math.abs(high));
  // Values that differ by less than an axis can show are one value, in the
  // middle of its axis.
  const isFlat = high - low <= size * ROUNDING || size < SMALLEST;
  const span = isFlat ? (size < SMALLEST ? 1 : size / 5) : high - low;
  const [from, to] = isFlat ? [low - span / 2, high + span / 2] : [low, high];
  const rough = span / intervals;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step =
    ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.floor(from / step + ROUNDING);
  const last = Math.ceil(to / step - ROUNDING);
  return Array.from({ length: last - first + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** So that 0.3 / 0.1 counts as 3. */
const ROUNDING = 1e-9;
const SMALLEST = 1e-12;
