import { counted } from '../../../../lib/counted.ts';
import { numberText } from '../../rules/words.ts';
import { drawTrend } from './draw-trend.ts';
import type { Chart } from './drawing.ts';
import type { Point, Trend } from './trend.ts';

/** Fewer values need no picture: the overview compares the last with the one before. */
const TIMES_MIN = 3;
/** Per section: more than two pages of pictures would hide the tables. */
const CHARTS_MAX = 24;

/** The charts of a section, most recently measured first, and what a reader must know about those that are missing. */
export function chartsOf(trends: readonly Trend[]): { charts: Chart[]; note?: string } {
  const drawable = trends.filter(({ lines }) =>
    [...lines.values()].some((points) => new Set(points.map(({ at }) => at)).size >= TIMES_MIN),
  );
  const charts = drawable.slice(0, CHARTS_MAX).map(chartOf);
  const missing = drawable.length - charts.length;
  return {
    charts,
    ...(missing > 0 && {
      note: `${counted(missing, 'further chart is', 'further charts are')} not drawn; the table has all values.`,
    }),
  };
}

function chartOf(trend: Trend): Chart {
  const { name, unit, notDrawn } = trend;
  const lines = [...trend.lines].map(([line, points]) => ({
    name: line,
    points: points.toSorted((left, right) => left.at - right.at),
  }));
  const all = lines.flatMap(({ points }) => points).sort((left, right) => left.at - right.at);
  const range = commonRange(all);
  const [first, last] = [all[0], all.at(-1)];
  const values = all.map(({ value }) => value);
  const newest = lines.flatMap(({ name: line, points }) => {
    const value = numberText(points.at(-1)?.value);
    return value === undefined ? [] : [`${line} ${value}`.trim()];
  });
  const left =
    notDrawn === 0
      ? ''
      : ` ${counted(notDrawn, 'value is', 'values are')} not drawn: not final, no plain number, or no day.`;
  const period = `${first?.day} to ${last?.day}`;
  const alerts = all.filter(({ isAlert }) => isAlert).length;
  return {
    title: unit === '' ? name : `${name} (${unit})`,
    detail: `Last: ${newest.join(', ')} on ${last?.day}${rangeNote(range)}${left === '' ? '' : `.${left}`}`,
    description: [
      `${counted(all.length, 'value')} from ${period}.`,
      `Last: ${newest.join(', ')}. Lowest ${numberText(Math.min(...values))}, highest ${numberText(Math.max(...values))}.`,
      alerts === 0 ? '' : `${counted(alerts, 'value is', 'values are')} marked as abnormal.`,
      'The table has every value.',
    ]
      .filter(Boolean)
      .join(' '),
    drawing: drawTrend(lines, range === 'several' ? undefined : range),
  };
}

type Range = NonNullable<Point['range']>;

/** The reference range of all values that have one; `several` if they differ, because no single one holds for all values. */
function commonRange(points: readonly Point[]): Range | 'several' | undefined {
  const ranges = points.flatMap(({ range }) => range ?? []);
  const [first] = ranges;
  if (first === undefined) return undefined;
  return ranges.every(({ low, high }) => low === first.low && high === first.high) ? first : 'several';
}

function rangeNote(range: Range | 'several' | undefined): string {
  if (range === undefined) return '';
  if (range === 'several') return '; reference ranges differ, so none is drawn';
  const [low, high] = [numberText(range.low), numberText(range.high)];
  if (low !== undefined && high !== undefined) return `; reference range ${low} – ${high}`;
  return low !== undefined ? `; reference range ≥ ${low}` : `; reference range ≤ ${high}`;
}
