import { countText } from '../count-text.ts';
import { codeTable } from '../fhir/code-table.ts';
import {
  canBeOneMoment,
  clinicalTime,
  isBefore,
  moment,
} from '../fhir/dates.ts';
import { type Distinction, distinctionsOf } from '../fhir/distinctions.ts';
import { isJson, type Json, objectsOf } from '../fhir/json.ts';
import {
  codesOf,
  conceptText,
  dayText,
  firstDay,
  unique,
  unitOfCount,
} from '../fhir/words.ts';
import { componentWithCode } from '../measurements.ts';
import {
  BLOOD_PRESSURE,
  categoryOf,
  flagOf,
  isEmpty,
  isJudged,
  referenceRanges,
  remarksOn,
  timeOf,
  VITAL_SIGNS,
  valueWithUnit,
  withRemarks,
} from '../observation.ts';
import { NOTHING, type OverviewItem } from '../parts.ts';
import {
  type Collect,
  isOfLastYear,
  LeftOutCounts,
  monthsBefore,
  type OverviewContext,
  referencesOf,
} from './block-rule.ts';

/**
 * A value as the overview shows it; `amount` only if it can be compared with
 * others of the same unit.
 */
interface Measurement {
  text: string;
  unit: string;
  amount?: number;
}

/**
 * The value of an Observation, including its components; undefined if it has
 * none.
 */
function measurementOf(content: Json): Measurement | undefined {
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
 */
function trend(
  last: readonly Measurement[],
  earlier: readonly Measurement[],
  day: string,
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
  return `${now.amount > before.amount ? 'up' : 'down'} from ${value} on ${day}`;
}

export const RETRACTED = ['entered-in-error', 'cancelled'];

/** The last values of one vital sign, and the one before. */
interface Vital {
  name: string;
  /** As the source wrote it, and as an instant for comparison. */
  time: unknown;
  at: string;
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
function freshMonths({ birthDate, madeAt }: OverviewContext): number {
  if (birthDate !== undefined && birthDate > monthsBefore(madeAt, 2 * 12))
    return 6;
  return birthDate !== undefined && birthDate > monthsBefore(madeAt, 18 * 12)
    ? 12
    : 36;
}

/**
 * Vital signs, those of one visit together and the newest visit first. One that
 * is too old to say something at the patient's age is left out.
 */
export const collectVitals: Collect = (context) => {
  const vitals = new Map<string, Vital>();
  const others = new LeftOutCounts();
  const months = freshMonths(context);
  let newestOld: string | undefined;
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
        at !== '' && at < monthsBefore(context.madeAt, by);
      const thing = measuredThing(
        content,
        distinctionsOf(content, context.lookup.linked),
      );
      if (isOld(months) && !vitals.has(thing.key))
        newestOld ??= dayText(timeOf(content)) ?? '';
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
          .map(vitalItem),
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

const partsIn = (content: Json): Json[] => [
  content,
  ...objectsOf(content.component),
];
const alertsOf = (content: Json): string[] =>
  unique(
    partsIn(content).map((part) =>
      flagOf(part)?.isAlert ? flagOf(part)?.text : undefined,
    ),
  );

type DayItem = OverviewItem & { day: string };

/**
 * Items that name their day only if it is another one than that of most (of the
 * newest, if as many are of it).
 */
function ofOneDay(all: readonly DayItem[]): {
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

function vitalItem({ name, time, last, flags, before, of }: Vital): DayItem {
  return {
    of,
    day: dayText(time) ?? 'undated',
    text: `${name.replaceAll(ADDED, '')}: ${last.map(({ text }) => text).join(' or ')}${inBrackets(flags)}`,
    detail: before ? trend(last, before.values, before.day) : '',
    ...(flags.length > 0 && { tone: 'alert' as const }),
  };
}

const inBrackets = (flags: readonly string[]): string =>
  flags.length === 0 ? '' : ` (${unique(flags).join(', ')})`;

interface Result {
  value: Measurement;
  alerts: string[];
  /** Its status unless it is final, and whom it is about. */
  remarks: string[];
  day: string;
  at: string;
}

/**
 * One test's results, newest first: those of the last year, and the one before
 * the last. Several of one time stand side by side: none is the later one.
 */
interface Test {
  name: string;
  distinctions: readonly Distinction[];
  /** Date and report, for the order. */
  date: string;
  report: { name: string; place: number };
  ranges: string;
  last: Result[];
  before: Result[];
  newestAbnormal?: Result;
  results: number;
  abnormal: number;
  of: OverviewItem['of'][number][];
}

/**
 * The tests of the last year (undated results too), one item each: the last
 * value, flagged or not, and how it compares with the one before. Critical ones
 * come first, then those that a source or the reference range calls abnormal.
 * An absent flag does not mean a normal result, so it says how many could not
 * be judged.
 */
export const collectResults: Collect = (context) => {
  const tests = new Map<string, Test>();
  const others = new LeftOutCounts();
  let unjudged = 0;
  let newestOld: string | undefined;

  function takeRecent(
    content: Json,
    key: string,
    distinctions: readonly Distinction[],
    result: Result,
  ): void {
    const { alerts } = result;
    if (alerts.length === 0 && partsIn(content).some(isNotJudged))
      unjudged += 1;
    const test = tests.get(key) ?? {
      name: conceptText(content.code) ?? NOTHING,
      distinctions,
      ranges: rangesText(partsIn(content)),
      last: [],
      before: [],
      date: clinicalTime(content).sortDate.slice(0, 10),
      report: context.lookup.reports.get(String(content.id)) ?? NO_REPORT,
      results: 0,
      abnormal: 0,
      of: [],
    };
    tests.set(key, test);
    place(test, result);
    test.results += 1;
    test.of.push(...referencesOf([{ content }]));
    if (alerts.length === 0) return;
    test.abnormal += 1;
    test.newestAbnormal ??= result;
  }

  return {
    take: (entry) => {
      const { content } = entry;
      if (categoryOf(content) === 'vital-signs' || isEmpty(content)) return;
      const alerts = alertsOf(content);
      // Social history and the like are no results, unless a source flagged
      // them.
      if (
        categoryOf(content) === 'other' &&
        (alerts.length === 0 || content.focus !== undefined)
      )
        return;
      if (RETRACTED.includes(String(content.status)))
        return others.add('retracted result');
      const value = measurementOf(content);
      const distinctions = distinctionsOf(content, context.lookup.linked);
      const { key } = measuredThing(content, distinctions);
      const remarks = remarksOn(content);
      const at = moment(timeOf(content)) ?? '';
      const day =
        firstDay(
          content,
          'effectiveDateTime',
          'effectivePeriod',
          'effectiveInstant',
          'issued',
        ) ?? 'undated';
      if (isOfLastYear(entry, context))
        return value === undefined
          ? others.add('result without a value', 'results without a value')
          : takeRecent(content, key, distinctions, {
              value,
              alerts,
              remarks,
              day,
              at,
            });
      newestOld ??= day;
      const test = tests.get(key);
      const isShown =
        test !== undefined &&
        value !== undefined &&
        place(test, { value, alerts, remarks, day, at });
      if (isShown) test.of.push(...referencesOf([entry]));
      others.add(alerts.length > 0 ? 'older abnormal result' : 'older result');
    },
    collected: () => ({
      ...ofOneDay(
        named([...tests.values()])
          .sort(inOrder)
          .map(testItem),
      ),
      none:
        newestOld &&
        `No results of the last year were delivered; the last one is of ${newestOld}.`,
      remarks:
        unjudged === 0
          ? []
          : [
              `Not judged: ${countText(unjudged, 'result')} of the last year without a flag and a usable reference range.`,
            ],
      others,
    }),
  };
};

/**
 * What LOINC adds to the name of a test of blood, which its unit says, or of a
 * score.
 */
const ADDED =
  / \[(?!Percentile)[^\]]+\]| - Reported$| in (?:Blood|Serum or Plasma|Serum, Plasma or Blood)$/g;

/**
 * Puts a result beside the last ones or the ones before, if it is of their
 * time; false if it is not shown.
 */
function place({ last, before }: Test, result: Result): boolean {
  const of = [last, before].find(
    ([first]) => first !== undefined && canBeOneMoment(first.at, result.at),
  );
  if (of !== undefined) {
    const isKnown = of.some(({ value }) => value.text === result.value.text);
    if (!isKnown) of.push(result);
    return !isKnown;
  }
  const [newest] = last;
  const isNext =
    newest === undefined ||
    (before.length === 0 && isBefore(result.at, newest.at));
  if (isNext) (newest === undefined ? last : before).push(result);
  return isNext;
}

/**
 * With short names, where these name different tests, and with what else makes
 * several tests of one name.
 */
function named(tests: readonly Test[]): Test[] {
  const shortNames = tests.map((test) =>
    testName(test, shortOf(test.name), false),
  );
  const isSeveral = (all: readonly string[], name: string | undefined) =>
    all.filter((other) => other === name).length > 1;
  const names = tests.map(({ name }) => name);
  return tests.map((test, index) => {
    const isShort = !isSeveral(shortNames, shortNames[index]);
    const name = isShort ? shortOf(test.name) : test.name;
    return { ...test, name: testName(test, name, isSeveral(names, test.name)) };
  });
}

const shortOf = (name: string): string => name.replaceAll(ADDED, '');

/** A test's name with what distinguishes it, and with its result's status. */
const testName = (
  { distinctions, last: [first, ...others] }: Test,
  name: string,
  isWhole: boolean,
): string =>
  withRemarks(name, [
    ...distinctions
      .filter(({ isUsual }) => isWhole || isUsual !== true)
      .map(({ text }) => text),
    ...(others.length === 0 ? (first?.remarks ?? []) : []),
  ]);

const isCritical = ({ alerts }: Result): boolean =>
  alerts.some((text) => text.startsWith('Critically'));
const urgency = ({ newestAbnormal }: Test): number =>
  newestAbnormal === undefined ? 0 : isCritical(newestAbnormal) ? 2 : 1;

const NO_REPORT = { name: '\uffff', place: 0 };

/**
 * Critical and abnormal ones first, then the newest; those of one day by
 * report, in its order.
 */
const inOrder = (left: Test, right: Test): number =>
  urgency(right) - urgency(left) ||
  right.date.localeCompare(left.date) ||
  left.report.name.localeCompare(right.report.name) ||
  left.report.place - right.report.place;

const isNotJudged = (part: Json): boolean =>
  valueWithUnit(part) !== undefined && !isJudged(part);

const rangesText = (parts: readonly Json[]): string => {
  const ranges = unique(parts.map(referenceRanges)).join('; ');
  return ranges === '' ? '' : `reference range ${ranges}`;
};

function testItem({
  name,
  ranges,
  last,
  before,
  newestAbnormal,
  results,
  abnormal,
  of,
}: Test): DayItem {
  const isFlagged = last.some(({ alerts }) => alerts.length > 0);
  const values = last.map(
    ({ value, alerts, remarks }) =>
      `${value.text}${inBrackets([...(last.length > 1 ? remarks : []), ...alerts])}`,
  );
  return {
    of,
    day: last[0]?.day ?? '',
    text: `${name}: ${values.join(' and ')}`,
    detail: unique([
      trend(
        last.map(({ value }) => value),
        before.map(({ value, remarks }) =>
          remarks.length === 0
            ? value
            : { text: withRemarks(value.text, remarks), unit: value.unit },
        ),
        before[0]?.day ?? '',
      ),
      ranges,
      newestAbnormal && !isFlagged
        ? `not flagged; abnormal: ${newestAbnormal.value.text}${inBrackets(newestAbnormal.alerts)} on ${newestAbnormal.day}`
        : undefined,
      abnormal > 0 && results > 1
        ? `${abnormal} of ${results} results of the year abnormal`
        : undefined,
    ]).join('; '),
    ...(isFlagged && { tone: 'alert' as const }),
  };
}
