import { moment } from '../fhir/dates.ts';
import {
  type Distinction,
  distinctionsOf,
  type LinkedResources,
} from '../fhir/distinctions.ts';
import { isJson, type Json, objectsOf, textOf } from '../fhir/json.ts';
import { comparableUnit } from '../fhir/measures.ts';
import {
  fromBaseUnits,
  inBaseUnits,
  type Unit,
  ucumUnit,
} from '../fhir/ucum.ts';
import { codesOf, conceptText, dayText, readableUnit } from '../fhir/words.ts';
import { componentWithCode } from '../measurements.ts';
import {
  BLOOD_PRESSURE,
  categoryOf,
  flagOf,
  observationName,
  rangeFor,
  timeOf,
  withRemarks,
} from '../observation.ts';
import {
  keyWith,
  measuredThing,
  PRESSURE_NAME,
  vitalPlace,
} from '../overview/measurement.ts';
import type { SummaryEntry } from '../section.ts';

/** The numeric values of one code over time, in one unit. */
export interface Trend {
  name: string;
  /** What its code names, without what distinguishes it. */
  coded: string;
  /** In words, what is usual of its values and stands in no name: `Blood`. */
  usual: Set<string>;
  unit: string;
  /**
   * That unit, if it is known: values in other units of the same dimension are
   * brought to it.
   */
  measured: Unit | undefined;
  /**
   * Lines of one chart: systolic and diastolic, otherwise one without a name.
   */
  lines: Map<string, Point[]>;
  /**
   * Values that cannot be placed on a time axis, are no plain number, or are
   * not valid.
   */
  notDrawn: number;
}

export interface Point {
  /** Milliseconds since 1970. */
  at: number;
  day: string;
  value: number;
  range?: { low?: number; high?: number };
  isAlert: boolean;
}

export type ChartedSection = 'vital-signs' | 'results';

/**
 * Bounds of memory; the newest values come first, so the oldest are not drawn.
 */
const TRENDS_MAX = 400;
const POINTS_MAX = 200;

/** Beyond it is no measurement, and nothing that an axis can show. */
const VALUE_MAX = 1e12;

const VALID = ['final', 'amended', 'corrected'];
const PRESSURES: readonly [line: string, code: string][] = [
  ['Systolic', BLOOD_PRESSURE.systolic],
  ['Diastolic', BLOOD_PRESSURE.diastolic],
];

/**
 * Collects vital signs and laboratory results over time, newest first. Values
 * of different codes, or of units that cannot be converted, stay apart.
 */
export class Trends {
  readonly #trends: Record<ChartedSection, Map<string, Trend>> = {
    'vital-signs': new Map(),
    results: new Map(),
  };
  readonly #linked: LinkedResources;

  constructor(linked: LinkedResources) {
    this.#linked = linked;
  }

  take({ content }: SummaryEntry): void {
    if (content.resourceType !== 'Observation') return;
    const category = categoryOf(content);
    if (category === 'other') return;
    const section = category === 'laboratory' ? 'results' : 'vital-signs';
    const pressures = PRESSURES.flatMap(([line, code]) => {
      const part = codesOf(content.code).includes(code)
        ? content
        : componentWithCode(content, code);
      return part === undefined ? [] : [{ line, part }];
    });
    const distinctions = distinctionsOf(content, this.#linked);
    for (const { line, part } of pressures)
      this.#add(section, pressureOf(distinctions), line, content, part);
    const code = codeKey(content);
    if (pressures.length > 0 || code === undefined) return;
    const key = keyWith(code, distinctions);
    const name =
      section === 'results'
        ? observationName({ ...content, status: 'final' }, this.#linked)
        : measuredThing(content, distinctions).name;
    const trend = this.#add(section, { key, name }, '', content, content);
    for (const { text, isUsual } of distinctions)
      if (isUsual === true) trend?.usual.add(text);
  }

  /**
   * Vital signs in the order of the flow sheet; results by when they were last
   * measured, newest first.
   */
  of(section: string): Trend[] {
    if (section === 'results') return named([...this.#trends.results.values()]);
    if (section !== 'vital-signs') return [];
    return [...this.#trends['vital-signs'].values()].sort(
      (left, right) => vitalPlace(left.name) - vitalPlace(right.name),
    );
  }

  #add(
    section: ChartedSection,
    { key, name }: { key: string; name: string },
    line: string,
    content: Json,
    part: Json,
  ): Trend | undefined {
    const { valueQuantity: quantity } = part;
    if (!isJson(quantity)) return undefined;
    const trends = this.#trends[section];
    const unit = readableUnit(quantity.unit ?? quantity.code);
    const measured = ucumUnit(comparableUnit(quantity));
    const id = `${key} ${measured?.dimension ?? unit}`;
    const trend = trends.get(id) ?? {
      name,
      coded: conceptText(content.code) ?? name,
      usual: new Set<string>(),
      unit,
      measured,
      lines: new Map<string, Point[]>(),
      notDrawn: 0,
    };
    if (!trends.has(id) && trends.size >= TRENDS_MAX) return undefined;
    trends.set(id, trend);
    const points = trend.lines.get(line) ?? [];
    trend.lines.set(line, points);
    const point = pointOf(
      content,
      part,
      quantity,
      conversion(measured, trend.measured),
    );
    if (point === undefined || points.length >= POINTS_MAX) trend.notDrawn += 1;
    else if (
      !points.some(({ at, value }) => at === point.at && value === point.value)
    )
      points.push(point);
    return trend;
  }
}

/**
 * With what is usual, where charts of one name would not tell that another is of
 * something else: `Glucose (Blood)` beside `Glucose (Cerebrospinal fluid)`.
 */
function named(trends: readonly Trend[]): Trend[] {
  const count = Map.groupBy(trends, ({ coded }) => coded);
  return trends.map((trend) => {
    const { name, coded, usual } = trend;
    const isAlone = count.get(coded)?.length === 1;
    return isAlone || name !== coded || usual.size !== 1
      ? trend
      : { ...trend, name: withRemarks(name, [...usual]) };
  });
}

/** Pressures of two places, or of two positions, are two lines each. */
const pressureOf = (distinctions: readonly Distinction[]) => ({
  key: keyWith('bp', distinctions),
  name: withRemarks(
    PRESSURE_NAME,
    distinctions.map(({ text }) => text),
  ),
});

/**
 * The LOINC code, otherwise the first code of a named system; without one,
 * values cannot be known to be of one kind.
 */
function codeKey({ code }: Json): string | undefined {
  const codings = objectsOf(isJson(code) ? code.coding : undefined);
  const coding =
    codings.find(({ system }) => system === 'http://loinc.org') ??
    codings.find(({ system }) => textOf(system));
  const system = textOf(coding?.system);
  const value = textOf(coding?.code);
  return system !== undefined && value !== undefined
    ? `${system}|${value}`
    : undefined;
}

/**
 * From the unit of a value to that of its trend, which is the unit of the
 * newest value.
 */
function conversion(
  from: Unit | undefined,
  to: Unit | undefined,
): (value: number) => number {
  const isSame =
    from === undefined ||
    to === undefined ||
    (from.mantissa === to.mantissa &&
      from.exponent === to.exponent &&
      from.offset === to.offset);
  return isSame
    ? (value) => value
    : (value) =>
        Number(fromBaseUnits(inBaseUnits(value, from), to).toPrecision(5));
}

function pointOf(
  content: Json,
  part: Json,
  { value, comparator }: Json,
  converted: (value: number) => number,
): Point | undefined {
  const time = timeOf(content);
  const when = moment(time);
  // A year or a month is no place on the axis.
  if (when === undefined || when.length < 10) return undefined;
  if (!VALID.includes(textOf(content.status) ?? 'final')) return undefined;
  if (
    typeof value !== 'number' ||
    !(Math.abs(value) < VALUE_MAX) ||
    comparator !== undefined
  )
    return undefined;
  const range = rangeFor(part);
  return {
    at: Date.parse(when),
    day: dayText(time) ?? '',
    value: converted(value),
    ...(range !== undefined && {
      range: {
        ...(range.low !== undefined && { low: converted(range.low) }),
        ...(range.high !== undefined && { high: converted(range.high) }),
      },
    }),
    isAlert: flagOf(part)?.isAlert === true,
  };
}
