import { codeTable } from './code-table.ts';
import { DATE_RULES } from './date-rules.ts';
import {
  isJson,
  type Json,
  objectsOf,
  rememberingLast,
  textOf,
} from './json.ts';

const DATE_TIME =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?)?)?)?$/;

/**
 * A FHIR date or time for comparison: an instant in UTC to the second, or the
 * date with the precision given. Undefined when the value is not a date. A time
 * without a zone, which FHIR forbids but sources send, is read as UTC.
 */
export function moment(value: unknown): string | undefined {
  const text = textOf(value) ?? '';
  // Most times, without the cost of a match with groups.
  if (UTC_TIME.test(text))
    return isCalendarDay(
      Number(text.slice(0, 4)),
      Number(text.slice(5, 7)),
      Number(text.slice(8, 10)),
    )
      ? `${text.slice(0, 19)}Z`
      : undefined;
  const match = DATE_TIME.exec(text);
  if (match === null) return undefined;
  const [whole, year = '', month = '01', date = '01', time, zone = 'Z'] = match;
  if (!isCalendarDay(Number(year), Number(month), Number(date)))
    return undefined;
  if (time === undefined) return whole;
  const ms = Date.parse(
    `${year}-${month}-${date}T${time.length === 5 ? `${time}:00` : time}${zone}`,
  );
  const utc = Number.isNaN(ms) ? '' : new Date(ms).toISOString();
  // A zone may move the last day of the year 9999 beyond four digits.
  return /^\d{4}-/.test(utc) ? `${utc.slice(0, 19)}Z` : undefined;
}

const UTC_TIME =
  /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|\+00:00)$/;

/**
 * The day by which the first of these elements with a date is found, or that
 * date with the precision given.
 */
export const day = (
  resource: Json,
  ...elements: string[]
): string | undefined => dayToFindBy(firstMoment(resource, elements));

/** PostgreSQL rejects 31 February and year 0; JavaScript accepts them. */
export function isCalendarDay(
  year: number,
  month: number,
  date: number,
): boolean {
  return (
    year > 0 &&
    month > 0 &&
    month < 13 &&
    date > 0 &&
    date <= daysIn(year, month)
  );
}

function daysIn(year: number, month: number): number {
  if (month === 2)
    return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Hours by which the days of the United States begin after those of UTC,
 * roughly: of most instants it gives the local day.
 */
const BEHIND_UTC_MS = 6 * 3_600_000;

/**
 * The day by which a moment is found: a document often has only the day of what
 * a source's own resource dates to the second.
 */
export const dayToFindBy = (at: string | undefined): string | undefined =>
  at === undefined || at.length <= 10
    ? at
    : at.slice(11) >= '06'
      ? at.slice(0, 10)
      : new Date(Date.parse(at) - BEHIND_UTC_MS).toISOString().slice(0, 10);

/**
 * Whether two moments can be the same: they are, or one is only the day of the
 * other one.
 */
export const canBeOneMoment = (left: string, right: string): boolean =>
  left === right ||
  (left.length !== right.length &&
    [left, right].every((at) => at.length >= 10) &&
    dayToFindBy(left) === dayToFindBy(right));

/**
 * Whether a moment is before another one for certain: not with times that can
 * be one, nor with the lesser precision of the two, nor without a time.
 */
export function isBefore(at: string, than: string): boolean {
  const length = Math.min(at.length, than.length);
  return (
    !canBeOneMoment(at, than) && at.slice(0, length) < than.slice(0, length)
  );
}

/**
 * The first of these elements that holds a date, an instant, or a period (its
 * start, otherwise its end).
 */
export function firstMoment(
  resource: Json,
  elements: readonly string[],
): string | undefined {
  for (const element of elements) {
    const value = valueAt(resource, element);
    const found = isJson(value)
      ? (comparedMoment(value, 'start') ?? comparedMoment(value, 'end'))
      : (uncertainMoment(resource[`_${element}`]) ?? moment(value));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The time at an element, for comparison only. */
export const comparedMoment = (of: Json, element: string): string | undefined =>
  uncertainMoment(of[`_${element}`]) ?? moment(of[element]);

/**
 * The time of day at an element as a document wrote it, where its offset is not
 * known: `2024-03-01T08:00:00`.
 */
export const localTimeAt = (of: Json, element: string): string | undefined =>
  uncertainMoment(of[`_${element}`])?.replace(/Z$/, '');

const UNCERTAIN = 'http://hl7.org/fhir/StructureDefinition/uncertainPeriod';

/**
 * A time of day whose offset a document does not state, read as UTC: so it can
 * be the same as an instant, never another day.
 */
function uncertainMoment(element: unknown): string | undefined {
  const [found] = isJson(element)
    ? objectsOf(element.extension).filter(({ url }) => url === UNCERTAIN)
    : [];
  const start = isJson(found?.valuePeriod)
    ? textOf(found.valuePeriod.start)
    : undefined;
  return moment(start?.replace(/[+-]\d{2}:\d{2}$/, 'Z'));
}

/**
 * The days to which something applies, both inclusive; `to` is `infinity` while
 * it is ongoing.
 */
export interface Days {
  from: string;
  to: string;
}

/**
 * The days by which a date filter finds a resource, and its position among
 * others of its type.
 */
export interface ClinicalTime {
  /** UTC instant or date; empty when undated. */
  sortDate: string;
  days?: Days;
}

interface DateRule {
  at: readonly string[];
  end?: readonly string[];
  ongoing?: (resource: Json) => boolean;
}

const RULES: Readonly<Record<string, DateRule>> = codeTable(DATE_RULES);

/** When a resource happened or was written. */
export const momentOf = rememberingLast((resource) =>
  firstMoment(resource, RULES[textOf(resource.resourceType) ?? '']?.at ?? []),
);

/**
 * The clinical time of a resource. Calendar days are those the source wrote, so
 * that no time zone moves them.
 */
export const clinicalTime = rememberingLast(readClinicalTime);

function readClinicalTime(resource: Json): ClinicalTime {
  const rule = RULES[textOf(resource.resourceType) ?? ''];
  if (rule === undefined) return { sortDate: '' };
  for (const element of rule.at) {
    const value = valueAt(resource, element);
    const start = textOf(isJson(value) ? (value.start ?? value.end) : value);
    const sortDate = isJson(value)
      ? (comparedMoment(value, 'start') ?? comparedMoment(value, 'end'))
      : (uncertainMoment(resource[`_${element}`]) ?? moment(start));
    if (start === undefined || sortDate === undefined) continue;
    const ends = [
      isJson(value) ? value.end : undefined,
      ...(rule.end ?? []).map((end) => valueAt(resource, end)),
    ];
    const end = ends.map(textOf).find((text) => moment(text) !== undefined);
    const from = firstDayOf(start);
    const to =
      end === undefined
        ? rule.ongoing?.(resource) === true
          ? 'infinity'
          : lastDayOf(start)
        : lastDayOf(end);
    // A period that ends before it begins counts at its beginning.
    return { sortDate, days: { from, to: to < from ? lastDayOf(start) : to } };
  }
  return { sortDate: '' };
}

/** The first day of a date that may be only a year or a month. */
function firstDayOf(date: string): string {
  const text = date.slice(0, 10);
  return text.length === 4
    ? `${text}-01-01`
    : text.length === 7
      ? `${text}-01`
      : text;
}

/** The last day of a date that may be only a year or a month. */
function lastDayOf(date: string): string {
  const text = date.slice(0, 10);
  if (text.length === 4) return `${text}-12-31`;
  if (text.length > 7) return text;
  return new Date(
    Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0),
  )
    .toISOString()
    .slice(0, 10);
}

/**
 * `a.b` is the element b of the element a, or of the first of them. Of a Timing,
 * the period within which it is repeated.
 */
function valueAt(resource: Json, path: string): unknown {
  if (!path.includes('.')) return resource[path];
  const value = path
    .split('.')
    .reduce<unknown>((of, name) => objectsOf(of)[0]?.[name], resource);
  const repeat = isJson(value) ? value.repeat : undefined;
  return isJson(repeat) ? repeat.boundsPeriod : value;
}

/** The time that a FHIR date stands for: 2024-05 stands for all of May. */
export interface DateRange {
  /** Instants in UTC, to the millisecond. */
  from: string;
  to: string;
  /** Days as written, without regard to a time zone. */
  firstDay: string;
  lastDay: string;
}

export const EARLIEST = {
  from: '0000-01-01T00:00:00.000Z',
  firstDay: '0000-01-01',
};
export const LATEST = { to: '9999-12-31T23:59:59.999Z', lastDay: '9999-12-31' };

const TIME = /T\d{2}:\d{2}(:\d{2}(\.\d+)?)?/;

/** Undefined when the value is not a date. */
export function rangeOf(value: unknown): DateRange | undefined {
  const text = textOf(value);
  const instant = moment(text);
  if (text === undefined || instant === undefined) return undefined;
  const firstDay = firstDayOf(text);
  const time = TIME.exec(text);
  if (time === null) {
    const lastDay = lastDayOf(text);
    return {
      from: `${firstDay}T00:00:00.000Z`,
      to: `${lastDay}T23:59:59.999Z`,
      firstDay,
      lastDay,
    };
  }
  const [whole, seconds, fraction] = time;
  // A whole second, as most times are: its instant is known already.
  if (seconds !== undefined && fraction === undefined) {
    const second = instant.slice(0, 19);
    return {
      from: `${second}.000Z`,
      to: `${second}.999Z`,
      firstDay,
      lastDay: firstDay,
    };
  }
  const zone = text.slice(10 + whole.length) || 'Z';
  const at = Date.parse(
    `${firstDay}${seconds === undefined ? `${whole}:00` : whole}${zone}`,
  );
  if (Number.isNaN(at)) return undefined;
  const lengthMs =
    seconds === undefined ? 60_000 : fraction === undefined ? 1_000 : 1;
  const from = new Date(at).toISOString();
  const to = new Date(at + lengthMs - 1).toISOString();
  // A zone may move a time out of the years 0000 to 9999, which sort as text.
  if (from.length !== 24 || to.length !== 24) return undefined;
  return { from, to, firstDay, lastDay: firstDay };
}
