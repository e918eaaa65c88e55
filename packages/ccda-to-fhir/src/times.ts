import { attribute, type CdaElement, childOf } from './element.ts';
import type { FhirJson } from './json.ts';
import { cdaTable } from './lookup-table.ts';

/** A time as FHIR writes it. */
export interface FhirTime {
  value: string;
  /** For a time of day without an offset: within which period it was. */
  extension?: FhirJson;
}

const PATTERN =
  /^(\d{4})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:(\d{2})(?:\.(\d{1,9}))?)?)?)?)?)?(Z|[+-]\d{2}:?\d{2})?$/;

/** Earlier years are how programs write that they know none (0001-01-01). */
const EARLIEST_YEAR = '1800';

/** Time zones reach from UTC-12 to UTC+14. */
const EARLIEST_OFFSET = '+14:00';
const LATEST_OFFSET = '-12:00';

/**
 * A time of CDA (`20240501101500-0500`) as far as it is stated (C-CDA on FHIR,
 * "CDA ↔ FHIR Time/Dates"). A time of day without an offset has that of the
 * document; if the document has none either, only the day is certain, and an
 * extension keeps the rest. Undefined for what is no date.
 *
 * @param offset the document's offset
 */
export function cdaTimeInFhir(
  value: string | undefined,
  offset: string | undefined,
): FhirTime | undefined {
  const [, year, month, day, hour, minute, second, fraction, zone] =
    PATTERN.exec(value ?? '') ?? [];
  if (
    year === undefined ||
    year < EARLIEST_YEAR ||
    !isCalendarDay(Number(year), Number(month ?? 1), Number(day ?? 1))
  )
    return undefined;
  const date = [year, month, day]
    .filter((part) => part !== undefined)
    .join('-');
  if (day === undefined || hour === undefined || minute === undefined)
    return { value: date };
  const isTime =
    Number(hour) < 24 && Number(minute) < 60 && Number(second ?? 0) < 60;
  // Midnight without an offset is how systems write a day.
  const isDayOnly =
    zone === undefined && Number(`${hour}${minute}${second ?? ''}`) === 0;
  if (!isTime || isDayOnly) return { value: date };
  const milliseconds =
    Number(fraction ?? 0) === 0 ? '' : `.${(fraction ?? '').slice(0, 3)}`;
  const local = `${date}T${hour}:${minute}:${second ?? '00'}${milliseconds}`;
  const own = zone === undefined ? offset : statedOffset(zone);
  return own === undefined
    ? { value: date, extension: uncertainPeriod(local) }
    : { value: `${local}${own}` };
}

/** Whether there is such a day: JavaScript makes 3 March of 31 February. */
function isCalendarDay(year: number, month: number, day: number): boolean {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** The offset that a time of CDA states, as FHIR writes it. */
export function statedOffset(value: string | undefined): string | undefined {
  const [zone, hours = '', minutes = ''] =
    /(?:Z|([+-]\d{2}):?(\d{2}))$/.exec(value ?? '') ?? [];
  if (zone === undefined) return undefined;
  if (zone === 'Z') return zone;
  return Math.abs(Number(hours)) <= 14 && Number(minutes) < 60
    ? `${hours}:${minutes}`
    : undefined;
}

const uncertainPeriod = (local: string): FhirJson => ({
  url: 'http://hl7.org/fhir/StructureDefinition/uncertainPeriod',
  valuePeriod: {
    start: `${local}${EARLIEST_OFFSET}`,
    end: `${local}${LATEST_OFFSET}`,
  },
});

/** The time of a statement: a single one, or where it begins and ends. */
export interface StatedTime {
  at?: FhirTime;
  low?: FhirTime;
  high?: FhirTime;
  /** The end is said to be unknown. */
  hasUnknownEnd: boolean;
}

export function statedTime(
  element: CdaElement | undefined,
  offset: string | undefined,
): StatedTime {
  const part = (of: CdaElement | undefined) =>
    cdaTimeInFhir(attribute(of, 'value'), offset);
  const high = childOf(element, 'high');
  const low = part(childOf(element, 'low'));
  return {
    at: part(element) ?? part(childOf(element, 'center')),
    low,
    high: part(high) ?? endOf(low, childOf(element, 'width')),
    hasUnknownEnd: attribute(high, 'nullFlavor') === 'UNK',
  };
}

/** The days of a unit of UCUM; months and years have none of their own. */
const DAYS_OF: Readonly<Record<string, number>> = cdaTable({ d: 1, wk: 7 });
const MONTHS_OF: Readonly<Record<string, number>> = cdaTable({ mo: 1, a: 12 });

/**
 * The day on which an interval ends that is stated by its beginning and its
 * `width`; undefined unless the beginning is a day and the width full days,
 * weeks, months or years.
 */
function endOf(
  low: FhirTime | undefined,
  width: CdaElement | undefined,
): FhirTime | undefined {
  const length = Number(attribute(width, 'value'));
  const unit = attribute(width, 'unit') ?? '';
  const [year, month, day] = (low?.value.slice(0, 10) ?? '').split('-');
  if (day === undefined || !Number.isInteger(length) || length < 0)
    return undefined;

  const days = DAYS_OF[unit];
  const months = MONTHS_OF[unit];
  if (days === undefined && months === undefined) return undefined;
  const end = new Date(0);
  end.setUTCFullYear(
    Number(year),
    Number(month) - 1 + length * (months ?? 0),
    Number(day) + length * (days ?? 0),
  );
  const isCalendar =
    !Number.isNaN(end.getTime()) && end.getUTCFullYear() < 9999;
  return isCalendar ? { value: end.toISOString().slice(0, 10) } : undefined;
}

/**
 * Whether a time is after the day of the document, compared as far as both are
 * stated.
 */
export function isToCome(
  time: string | undefined,
  day: string | undefined,
): boolean {
  const length = Math.min(10, time?.length ?? 0, day?.length ?? 0);
  return String(time).slice(0, length) > String(day).slice(0, length);
}

/** Sets a time element, and its extension. */
export function setTime(
  on: Record<string, unknown>,
  name: string,
  time: FhirTime | undefined,
): void {
  if (time === undefined) return;
  on[name] = time.value;
  if (time.extension !== undefined)
    on[`_${name}`] = { extension: [time.extension] };
}

/**
 * FHIR's Period; undefined when neither end is stated. A single time is its
 * beginning.
 */
export function periodOf({ at, low, high }: StatedTime): FhirJson | undefined {
  const period: Record<string, unknown> = {};
  setTime(period, 'start', low ?? at);
  setTime(period, 'end', high);
  return Object.keys(period).length === 0 ? undefined : period;
}
