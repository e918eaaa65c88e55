import { codeTable } from '../fhir/code-table.ts';
import { canBeOneMoment, isBefore, moment } from '../fhir/dates.ts';
import { type Distinction, distinctionsOf } from '../fhir/distinctions.ts';
import { isJson, type Json, objectsOf } from '../fhir/json.ts';
import {
  codesOf,
  conceptText,
  dayText,
  unique,
  unitOfCount,
} from '../fhir/words.ts';
import { componentWithCode } from '../measurements.ts';
import {
  BLOOD_PRESSURE,
  categoryOf,
  flagOf,
  isEmpty,
  remarksOn,
  timeOf,
  VITAL_SIGNS,
  valueWithUnit,
  withRemarks,
} from '../observation.ts';
import { NOTHING, type OverviewItem } from '../parts.ts';
import {
  type Collect,
  LeftOutCounts,
  monthsBefore,
  type OverviewContext,
  referencesOf,
  withAge,
  yearsAgo,
} from './block-rule.ts';

/**
 * A value as the overview shows it; `amount` only if it can be compared with
 * others of the same unit.
 */
export interface Measurement {
  text: string;
  unit: string;
  amount?: number;
}

/**
 * The value of an Observation, including its components; undefined if it has
 * none.
 */
export function measurementOf(content: Json): Measurement | undefined {
  const systolic = componentWithCode(content, BLOOD_PRESSURE.systolic);
  const diastolic = componentWithCode(content, BLOOD_PRESSURE.diastolic);
  const parts = objectsOf(content.component);
  const isPressure = systolic !== undefined || diastolic !== undefined;
  const others = isPressure
    ? parts.filter((part) => part !== systolic && part !== diastolic)
    : parts;
  const own = isPressure ? pressure(systolic, diastolic) : single(content);
  const texts = [
    ...(own === undefined ? [] : [own.text]),
    ...others.flatMap((part) => {
      const value = single(part);
      return value === undefined
        ? []
        : [`${conceptText(part.code) ?? 'unnamed'} ${value.text}`];
    }),
  ];
  if (texts.length === 0) return undefined;
  return {
    ...(others.length === 0 && own),
    unit: own?.unit ?? '',
    text: texts.join(', '),
  };
}

/**
 * A template of the source that it did not fill in; the section shows it as it
 * came.
 */
const UNFILLED = /^\{[\w.]+\}$/;

function single(of: Json): Measurement | undefined {
  const value =
    of.dataAbsentReason === undefined ? valueWithUnit(of) : undefined;
  if (value === undefined || UNFILLED.test(value.value)) return undefined;
  const quantity = isJson(of.valueQuantity) ? of.valueQuantity : {};
  const isPlain =
    typeof quantity.value === 'number' && quantity.comparator === undefined;
  return {
    text: `${value.value} ${value.unit}`.trim(),
    unit: value.unit,
    ...(isPlain && { amount: Number(quantity.value) }),
  };
}

function pressure(
  systolic: Json | undefined,
  diastolic: Json | undefined,
): Measurement | undefined {
  const over = systolic && valueWithUnit(systolic);
  const under = diastolic && valueWithUnit(diastolic);
  const unit = over?.unit || under?.unit || '';
  if (over === undefined && under === undefined) return undefined;
  return {
    text: `${over?.value ?? '?'}/${under?.value ?? '?'} ${unit}`.trim(),
    unit,
  };
}

/** What was measured: what has another key is another thing. */
interface MeasuredThing {
  key: string;
  name: string;
}

/**
 * Name and identity of what was measured: by the code and by what makes two
 * things of one code two (`distinctionsOf`). The flow sheet's columns go under
 * their title, others by code, else by name.
 */
export function measuredThing(
  content: Json,
  distinctions: readonly Distinction[],
): MeasuredThing {
  const { key, name } = codedThing(content);
  const remarks = distinctions.filter((each) => each.isUsual !== true);
  return {
    key: keyWith(key, distinctions),
    name: withRemarks(
      name,
      remarks.map(({ text }) => text),
    ),
  };
}

/** The key of what a code names, with what makes it one of several things. */
export const keyWith = (
  key: string,
  distinctions: readonly Distinction[],
): string =>
  [key, ...distinctions.map((each) => each.key)].filter(Boolean).join(' & ');

function codedThing(content: Json): MeasuredThing {
  const codes = codesOf(content.code);
  const column = VITAL_SIGNS.find((each) =>
    each.codes.some((code) => codes.includes(code)),
  );
  if (column !== undefined)
    return { key: column.title, name: fullName(column) };
  if (BLOOD_PRESSURE.panel.some((code) => codes.includes(code)))
    return { key: BLOOD_PRESSURE.panel[0] ?? '', name: PRESSURE_NAME };
  const name =
    conceptText(content.code) ?? withRemarks(NOTHING, remarksOn(content));
  return { key: codes[0] ?? name.toLowerCase(), name };
}

export const PRESSURE_NAME = 'Blood pressure';
const fullName = ({ title }: { title: string }): string =>
  title.replace('Temp.', 'Temperature');
const ORDER = [PRESSURE_NAME, ...VITAL_SIGNS.map(fullName)];

/**
 * The place of a vital sign among others, by its name: as in the flow sheet,
 * others at the end.
 */
export function vitalPlace(name: string): number {
  const place = ORDER.findIndex(
    (each) => name === each || name.startsWith(`${each} (`),
  );
  return place === -1 ? ORDER.length : place;
}

/**
 * How a value compares with the one before, in the same unit: `up from 70 on 3
 * Jan 2023`. Of several values of one time none is the last one, or the one
 * before: they are only named.
 *
 * @param percent a change of less is none that could be told from none
 */
export function trend(
  last: readonly Measurement[],
  earlier: readonly Measurement[],
  day: string,
  percent: number,
): string {
  const [now, ...more] = last;
  const [before, ...others] = earlier;
  if (now === undefined || before === undefined) return '';
  if (more.length > 0 || others.length > 0)
    return `before: ${earlier.map(({ text }) => text).join(' and ')} on ${day}`;
  if (now.text === before.text) return `same on ${day}`;
  if (
    now.amount === undefined ||
    before.amount === undefined ||
    now.unit !== before.unit
  )
    return `before: ${before.text} on ${day}`;
  const value =
    before.unit === ''
      ? before.text
      : before.text.slice(0, -before.unit.length).trim();
  const change = Math.abs(now.amount - before.amount);
  if (change * 100 < Math.abs(before.amount) * percent)
    return `unchanged (${value} on ${day})`;
  return `${now.amount > before.amount ? 'up' : 'down'} from ${value} on ${day}`;
}

/**
 * What LOINC adds to the name of a test of blood, which its unit says, or of a
 * score.
 */
const ADDED = [
  / \[(?!Percentile)[^\]]+\]| - Reported$/g,
  / by (?:Automated count|Test strip|calculation)$/g,
  / in (?:Blood|Serum or Plasma|Serum, Plasma or Blood)(?=$| by )/g,
];

/** A test's name without what LOINC adds to it: `Glucose`. */
export const shortOf = (name: string): string =>
  ADDED.reduce((text, added) => text.replaceAll(added, ''), name);

export const RETRACTED = ['entered-in-error', 'cancelled'];

/** The last values of one vital sign, and the one before. */
interface Vital {
  name: string;
  /** As the source wrote it, and as an instant for comparison. */
  time: unknown;
  at: string;
  /** The newest measurement. */
  content: Json;
  /** More than one if sources differ about the same time. */
  last: Measurement[];
  flags: string[];
  /** The values before the last ones, all of one time. */
  before?: { values: Measurement[]; day: string; at: string };
  of: OverviewItem['of'][number][];
}

/**
 * For how many months a vital sign says something about a patient of this age.
 */
function freshMonths({ birthDate, until }: OverviewContext): number {
  if (birthDate !== undefined && birthDate > monthsBefore(until, 2 * 12))
    return 6;
  return birthDate !== undefined && birthDate > monthsBefore(until, 18 * 12)
    ? 12
    : ADULT_MONTHS;
}
const ADULT_MONTHS = 36;

/**
 * Vital signs, those of one visit together and the newest visit first. One that
 * is too old to say something at the patient's age is left out.
 */
export const collectVitals: Collect = (context) => {
  const vitals = new Map<string, Vital>();
  const others = new LeftOutCounts();
  const months = freshMonths(context);
  let newestOld: string | undefined;
  /** Of an adult without a newer visit, the last one is shown with its age. */
  const isOfLastVisit = (day: string): boolean =>
    months === ADULT_MONTHS &&
    (vitals.size === 0 || (newestOld === day && day !== ''));
  return {
    take: ({ content }) => {
      if (categoryOf(content) !== 'vital-signs' || isEmpty(content)) return;
      const value = remarked(measurementOf(rounded(content)), content);
      if (RETRACTED.includes(String(content.status)))
        return others.add('retracted measurement');
      if (value === undefined)
        return others.add(
          'measurement without a value',
          'measurements without a value',
        );
      const at = moment(timeOf(content)) ?? '';
      const isOld = (by: number) =>
        at !== '' && at < monthsBefore(context.until, by);
      const thing = measuredThing(
        content,
        distinctionsOf(content, context.lookup.linked),
      );
      if (isOld(months) && !vitals.has(thing.key)) {
        const day = dayText(timeOf(content)) ?? '';
        const isShown = isOfLastVisit(day);
        newestOld ??= day;
        if (isShown && take(vitals, thing, content, value, at)) return;
      }
      // One before says where the last one leads, if it is not much older.
      else if (!isOld(2 * months) && take(vitals, thing, content, value, at))
        return;
      others.add('earlier measurement');
    },
    collected: () => ({
      ...ofOneDay(
        [...vitals.values()]
          .sort(
            (left, right) =>
              right.at.slice(0, 10).localeCompare(left.at.slice(0, 10)) ||
              vitalPlace(left.name) - vitalPlace(right.name),
          )
          .map((vital) => vitalItem(vital, context.madeAt)),
      ),
      none: others.isEmpty
        ? undefined
        : newestOld
          ? `None of the last ${months} months; the last ones are of ${newestOld}.`
          : 'No valid measurement was delivered.',
      others,
    }),
  };
};

/**
 * A value with what is marked about it: a preliminary one is no step of a
 * course.
 */
function remarked(
  value: Measurement | undefined,
  content: Json,
): Measurement | undefined {
  const remarks = remarksOn(content);
  return value === undefined || remarks.length === 0
    ? value
    : { text: withRemarks(value.text, remarks), unit: value.unit };
}

/**
 * Decimals that a reader of the overview needs, by unit; the section has the
 * value as it was measured.
 */
const DECIMALS: Readonly<Record<string, number>> = codeTable({
  '°C': 1,
  '°F': 1,
  kg: 1,
  cm: 1,
  'kg/m²': 1,
  lb: 1,
  '/min': 0,
  mmHg: 0,
  '%': 0,
});

/**
 * The Observation with the values of its units rounded; a newborn's weight
 * keeps 10 g.
 */
function rounded(content: Json): Json {
  const quantity = isJson(content.valueQuantity) ? content.valueQuantity : {};
  const unit = unitOfCount(quantity);
  const { value } = quantity;
  const decimals = unit === 'kg' && Number(value) < 10 ? 2 : DECIMALS[unit];
  return {
    ...content,
    ...(typeof value === 'number' &&
      decimals !== undefined && {
        valueQuantity: { ...quantity, value: Number(value.toFixed(decimals)) },
      }),
    ...(content.component !== undefined && {
      component: objectsOf(content.component).map(rounded),
    }),
  };
}

/** Numbers from here on have no decimals. */
const WHOLE_FROM = 1_000;

/**
 * A result whose numbers have so many significant digits, unless that would put
 * a value on the other side of its reference range.
 */
export function roundedTo(content: Json, digits: number): Json {
  const quantity = isJson(content.valueQuantity) ? content.valueQuantity : {};
  const { value } = quantity;
  const parts = objectsOf(content.component);
  const whole =
    parts.length === 0
      ? content
      : { ...content, component: parts.map((part) => roundedTo(part, digits)) };
  if (typeof value !== 'number' || !Number.isFinite(value)) return whole;

  const isLarge = Math.abs(value) >= WHOLE_FROM;
  const short = isLarge ? Math.round(value) : Number(value.toPrecision(digits));
  const rounded = { ...whole, valueQuantity: { ...quantity, value: short } };
  return flagOf(content)?.text === flagOf(rounded)?.text ? rounded : whole;
}

/** Takes measurements newest first; false for those that are not shown. */
function take(
  vitals: Map<string, Vital>,
  { key, name }: MeasuredThing,
  content: Json,
  value: Measurement,
  at: string,
): boolean {
  const time = timeOf(content);
  const vital = vitals.get(key);
  const flags = alertsOf(content);
  if (vital === undefined) {
    vitals.set(key, {
      name,
      time,
      at,
      last: [value],
      flags,
      of: [...referencesOf([{ content }])],
      content,
    });
    return true;
  }
  if (canBeOneMoment(vital.at, at)) {
    vital.of.push(...referencesOf([{ content }]));
    vital.flags.push(...flags);
    return stood(vital.last, value);
  }
  const [last] = vital.last;
  const { before } = vital;
  if (vital.last.length > 1 || last?.unit !== value.unit) return false;
  if (before !== undefined)
    return canBeOneMoment(before.at, at) && stood(before.values, value);
  if (!isBefore(at, vital.at)) return false;
  vital.before = { values: [value], day: dayText(time) ?? '', at };
  vital.of.push(...referencesOf([{ content }]));
  return true;
}

/** Puts a value beside those of the same time; false if it says the same. */
function stood(values: Measurement[], value: Measurement): boolean {
  const isKnown = values.some(({ text }) => text === value.text);
  if (!isKnown) values.push(value);
  return !isKnown;
}

export const partsIn = (content: Json): Json[] => [
  content,
  ...objectsOf(content.component),
];
export const alertsOf = (content: Json): string[] =>
  unique(
    partsIn(content).map((part) =>
      flagOf(part)?.isAlert ? flagOf(part)?.text : undefined,
    ),
  );

export type DayItem = OverviewItem & { day: string };

/**
 * Items that name their day only if it is another one than that of most (of the
 * newest, if as many are of it).
 */
export function ofOneDay(all: readonly DayItem[]): {
  items: OverviewItem[];
  day?: string;
} {
  const days = all.map((item) => item.day);
  const timesOf = (day: string) => days.filter((other) => other === day).length;
  const [most] = unique(days).sort(
    (left, right) => timesOf(right) - timesOf(left),
  );
  const items = all.map(({ day, detail, ...item }) => ({
    ...item,
    detail: [day === most ? '' : day, detail].filter(Boolean).join('; '),
  }));
  return { day: most, items };
}

function vitalItem(
  { name, time, content, last, flags, before, of }: Vital,
  madeAt: Date,
): DayItem {
  const percent = VITAL_SIGNS.find((each) => fullName(each) === name)?.percent;
  return {
    of,
    day: withAge(dayText(time) ?? 'undated', yearsAgo(content, madeAt)),
    text: `${shortOf(name)}: ${last.map(({ text }) => text).join(' or ')}${inBrackets(flags)}`,
    detail: before ? trend(last, before.values, before.day, percent ?? 0) : '',
    ...(flags.length > 0 && { tone: 'alert' as const }),
  };
}

export const inBrackets = (flags: readonly string[]): string =>
  flags.length === 0 ? '' : ` (${unique(flags).join(', ')})`;
