import { concept, numberOf, quantity } from './datatypes.ts';
import {
  attribute,
  type CdaElement,
  childOf,
  childrenOf,
  line,
} from './element.ts';
import type { FhirJson } from './json.ts';
import { cdaTable } from './lookup-table.ts';
import type { DocumentScope } from './table.ts';
import { periodOf, statedTime } from './times.ts';

/** FHIR's units of time (UCUM calls them the same), by how they are written. */
const UNITS: Readonly<Record<string, string>> = cdaTable({
  s: 's',
  sec: 's',
  second: 's',
  min: 'min',
  minute: 'min',
  h: 'h',
  hr: 'h',
  hour: 'h',
  d: 'd',
  day: 'd',
  wk: 'wk',
  week: 'wk',
  mo: 'mo',
  month: 'mo',
  a: 'a',
  yr: 'a',
  year: 'a',
});
const HOURS_OF_DAY = 24;

const unitOfTime = (unit: string): string | undefined =>
  UNITS[unit] ?? UNITS[unit.toLowerCase().replace(/(?<=..)s$/, '')];

/** FHIR's EventTiming, as far as CDA has its codes (v3 TimingEvent). */
const MOMENTS: ReadonlySet<string> = new Set([
  'AC',
  'ACD',
  'ACM',
  'ACV',
  'C',
  'CD',
  'CM',
  'CV',
  'HS',
  'PC',
  'PCD',
  'PCM',
  'PCV',
  'WAKE',
]);

/** The days of a week as FHIR calls them, Sunday first. */
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** When a drug is taken: FHIR's Timing, and in words what that cannot say. */
export interface StatedTiming {
  timing?: FhirJson;
  words: string[];
}

/** How often: the parts of FHIR's `Timing.repeat`, a code, and words. */
interface Frequency {
  isPeriod: boolean;
  repeat: FhirJson;
  code: FhirJson | undefined;
  words: string[];
}

/** The times of a statement; those within an expression (`SXPR_TS`) singly. */
const timesIn = (times: readonly CdaElement[]): CdaElement[] =>
  times.flatMap((time) => {
    const parts = childrenOf(time, 'comp');
    return parts.length === 0 ? [time] : timesIn(parts);
  });

const isFrequency = (time: CdaElement): boolean =>
  /^(?:PIVL|EIVL)/.test(attribute(time, 'type') ?? '') ||
  childOf(time, 'period') !== undefined ||
  childOf(time, 'event') !== undefined;

/**
 * The time that says from when to when; the others say how often.
 *
 * @param times the `effectiveTime`s of a statement
 */
export const boundsOf = (
  times: readonly CdaElement[],
): CdaElement | undefined =>
  timesIn(times).find((time) => !isFrequency(time)) ?? times[0];

/**
 * When a drug is taken (C-CDA on FHIR, "Medication Timing and Frequency"): one
 * timing for each of several frequencies. An event refines the one period that
 * is stated ("daily, at bedtime"). At least one timing, which may say nothing.
 */
export function timingsOf(
  administration: CdaElement,
  scope: DocumentScope,
): StatedTiming[] {
  const times = timesIn(childrenOf(administration, 'effectiveTime'));
  const bounds = times.filter((time) => !isFrequency(time));
  const moments = bounds
    .map((time) => statedTime(time, scope.offset).at?.value)
    .filter((at) => at !== undefined);
  const [boundsPeriod] = bounds.flatMap((time) => {
    const { at: _at, ...limits } = statedTime(time, scope.offset);
    return periodOf(limits) ?? [];
  });
  const frequencies = different(
    times
      .filter(isFrequency)
      .map((time) => frequencyOf(time, scope))
      .filter(saysSomething),
  );
  return together(frequencies).map((parts) => {
    const repeat: FhirJson = Object.assign(
      { boundsPeriod },
      ...parts.map((part) => part.repeat),
    );
    const isRepeated = Object.values(repeat).some((part) => part !== undefined);
    const code = parts.map((part) => part.code).find(Boolean);
    const timing = {
      event: moments.length === 0 ? undefined : moments,
      repeat: isRepeated ? repeat : undefined,
      code,
    };
    const isStated = Object.values(timing).some((part) => part !== undefined);
    return {
      timing: isStated ? timing : undefined,
      words: parts.flatMap((part) => part.words),
    };
  });
}

const saysSomething = ({ repeat, code, words }: Frequency): boolean =>
  Object.keys(repeat).length > 0 || code !== undefined || words.length > 0;

const different = (frequencies: readonly Frequency[]): Frequency[] => [
  ...new Map(
    frequencies.map((each) => [JSON.stringify(each), each] as const),
  ).values(),
];

/** The frequencies that make up one timing each. */
function together(frequencies: readonly Frequency[]): Frequency[][] {
  const periods = frequencies.filter(({ isPeriod }) => isPeriod);
  const events = frequencies.filter(({ isPeriod }) => !isPeriod);
  if (events.length === 0 && periods.length === 0) return [[]];
  if (periods.length > 1) return frequencies.map((each) => [each]);
  return events.length === 0
    ? [periods]
    : events.map((event) => periods.concat(event));
}

function frequencyOf(time: CdaElement, scope: DocumentScope): Frequency {
  const said = line(childOf(time, 'originalText'), scope);
  const period = childOf(time, 'period');
  const event = childOf(time, 'event');
  const often = period === undefined ? undefined : howOften(period, time);
  const when = event === undefined ? undefined : momentOf(event, time, scope);
  const from = phaseOf(time, often?.repeat.periodUnit, scope);
  const hasMoment = when?.repeat.when !== undefined;
  return {
    isPeriod: event === undefined,
    repeat: {
      ...when?.repeat,
      ...often?.repeat,
      ...(hasMoment ? {} : from),
    },
    code: concept(childOf(time, 'code'), scope),
    words: [said, when?.words, often?.words].filter(
      (each) => each !== undefined,
    ),
  };
}

/** A part of a frequency, and in words what FHIR has no code for. */
interface Part {
  repeat: FhirJson;
  words?: string;
}

/**
 * @param time "every 8 hours" means three times a day at the institution's
 *   hours (`institutionSpecified`)
 */
function howOften(period: CdaElement, time: CdaElement): Part {
  const low = childOf(period, 'low');
  const high = childOf(period, 'high');
  const value = numberOf(period) ?? numberOf(low);
  const stated =
    attribute(period, 'unit') ??
    attribute(low, 'unit') ??
    attribute(high, 'unit') ??
    '';
  const unit = unitOfTime(stated);
  const periodMax = numberOf(high);
  if (value === undefined || value <= 0 || unit === undefined)
    return { repeat: {}, words: periodInWords(period) };
  if (periodMax !== undefined)
    return { repeat: { period: value, periodMax, periodUnit: unit } };

  const hours = unit === 'd' && value < 1 ? value * HOURS_OF_DAY : value;
  const isHours = unit === 'h' || (hours !== value && Number.isInteger(hours));
  const times = HOURS_OF_DAY / hours;
  const isTimesADay = attribute(time, 'institutionSpecified') === 'true';
  if (isTimesADay && isHours && Number.isInteger(times))
    return { repeat: { frequency: times, period: 1, periodUnit: 'd' } };
  return {
    repeat: {
      frequency: 1,
      period: isHours ? hours : value,
      periodUnit: isHours ? 'h' : unit,
    },
  };
}

/** A period as it is written: `BID` for the unit of one, "every 3 shifts". */
function periodInWords(period: CdaElement): string | undefined {
  const ends = [period, childOf(period, 'low'), childOf(period, 'high')];
  const values = ends.flatMap((end) => attribute(end, 'value') ?? []);
  const unit = ends
    .map((end) => attribute(end, 'unit'))
    .find(Boolean)
    ?.replaceAll(/[,_]/g, ' ');
  const value = values.join('–');
  if (value === '' || (value === '1' && unit !== undefined)) return unit;
  return unit === undefined ? undefined : `every ${value} ${unit}`;
}

function momentOf(
  event: CdaElement,
  time: CdaElement,
  scope: DocumentScope,
): Part {
  const codes = (attribute(event, 'code') ?? '').split(/\s+/).filter(Boolean);
  const offset = childOf(time, 'offset');
  const minutes = minutesOf(offset, scope);
  const name = attribute(event, 'displayName');
  if (codes.length === 0 || !codes.every((code) => MOMENTS.has(code)))
    return { repeat: {}, words: name ?? (codes.join(' ') || undefined) };
  // FHIR has no offset from the time of a meal, only from before or after it.
  const isOfMeal = codes.some((code) => code.startsWith('C'));
  const isSaid = minutes === undefined || isOfMeal;
  return {
    repeat: isSaid ? { when: codes } : { when: codes, offset: minutes },
    words: isSaid ? offsetInWords(offset) : undefined,
  };
}

const MINUTES: Readonly<Record<string, number>> = cdaTable({
  min: 1,
  h: 60,
  d: 1_440,
});

function minutesOf(
  offset: CdaElement | undefined,
  scope: DocumentScope,
): number | undefined {
  const found =
    quantity(offset, scope) ?? quantity(childOf(offset, 'low'), scope);
  const unit = unitOfTime(String(found?.unit)) ?? '';
  const minutes = Number(found?.value) * (MINUTES[unit] ?? Number.NaN);
  return Number.isInteger(minutes) && minutes >= 0 ? minutes : undefined;
}

function offsetInWords(offset: CdaElement | undefined): string | undefined {
  const stated = [offset, childOf(offset, 'low')].find(
    (each) => attribute(each, 'value') !== undefined,
  );
  const parts = [attribute(stated, 'value'), attribute(stated, 'unit')];
  return stated && `offset ${parts.filter(Boolean).join(' ')}`;
}

/**
 * Where in its period it is taken: at a time of a day, or on a day of a week.
 * Midnight is how systems write a day.
 */
function phaseOf(
  time: CdaElement,
  unit: unknown,
  { offset }: DocumentScope,
): FhirJson {
  const phase = childOf(time, 'phase');
  const { at, low } = statedTime(phase, offset);
  const stated =
    attribute(phase, 'value') ?? attribute(childOf(phase, 'low'), 'value');
  const day = (at ?? low)?.value.slice(0, 10);
  const clock = /^\d{8}(\d{2})(\d{2})/.exec(stated ?? '');
  if (day === undefined) return {};

  const hour = clock?.[1] ?? '00';
  const minute = clock?.[2] ?? '00';
  const isTimed = `${hour}${minute}` !== '0000';
  if (unit === 'd')
    return isTimed ? { timeOfDay: [`${hour}:${minute}:00`] } : {};
  if (unit !== 'wk' || day.length < 10) return {};
  const name = DAYS[new Date(`${day}T00:00:00Z`).getUTCDay()];
  return isTimed
    ? { dayOfWeek: [name], timeOfDay: [`${hour}:${minute}:00`] }
    : { dayOfWeek: [name] };
}
