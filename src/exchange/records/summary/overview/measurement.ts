import { counted } from '../../../../lib/counted.ts';
import { moment } from '../../rules/dates.ts';
import { isJson, type Json, objectsOf } from '../../rules/json.ts';
import { codesOf, conceptText, dayText, firstDay, unique } from '../../rules/words.ts';
import { componentOf } from '../measurements.ts';
import {
  BLOOD_PRESSURE,
  categoryOf,
  flagOf,
  isEmpty,
  isJudged,
  observationName,
  referenceRanges,
  VITAL_SIGNS,
  valueIn,
} from '../observation.ts';
import type { OverviewItem } from '../parts.ts';
import { type BlockRule, Counts, isOfLastYear } from './block-rule.ts';

/** A value as the overview shows it; `amount` only if it can be compared with others of the same unit. */
interface Measurement {
  text: string;
  unit: string;
  amount?: number;
}

/** The value of an Observation, including its components; undefined if it has none. */
function measurementOf(content: Json): Measurement | undefined {
  const [systolic, diastolic] = [BLOOD_PRESSURE.systolic, BLOOD_PRESSURE.diastolic].map((code) =>
    componentOf(content, code),
  );
  const parts = objectsOf(content.component);
  const isPressure = systolic !== undefined || diastolic !== undefined;
  const others = isPressure ? parts.filter((part) => part !== systolic && part !== diastolic) : parts;
  const own = isPressure ? pressure(systolic, diastolic) : single(content);
  const texts = [
    ...(own === undefined ? [] : [own.text]),
    ...others.flatMap((part) => {
      const value = single(part);
      return value === undefined ? [] : [`${conceptText(part.code) ?? 'unnamed'} ${value.text}`];
    }),
  ];
  if (texts.length === 0) return undefined;
  return { ...(others.length === 0 && own), unit: own?.unit ?? '', text: texts.join(', ') };
}

function single(of: Json): Measurement | undefined {
  const value = of.dataAbsentReason === undefined ? valueIn(of) : undefined;
  if (value === undefined) return undefined;
  const quantity = isJson(of.valueQuantity) ? of.valueQuantity : {};
  const isPlain = typeof quantity.value === 'number' && quantity.comparator === undefined;
  return {
    text: `${value.value} ${value.unit}`.trim(),
    unit: value.unit,
    ...(isPlain && { amount: Number(quantity.value) }),
  };
}

function pressure(systolic: Json | undefined, diastolic: Json | undefined): Measurement | undefined {
  const [over, under] = [systolic, diastolic].map((part) => (part === undefined ? undefined : valueIn(part)));
  const unit = over?.unit || under?.unit || '';
  if (over === undefined && under === undefined) return undefined;
  return { text: `${over?.value ?? '?'}/${under?.value ?? '?'} ${unit}`.trim(), unit };
}

/** Name and identity of what was measured: the flow sheet's columns under their title, others by code, else by name. */
export function measuredThing(content: Json): { key: string; name: string } {
  const codes = codesOf(content.code);
  const column = VITAL_SIGNS.find((each) => each.codes.some((code) => codes.includes(code)));
  if (column !== undefined) return { key: column.title, name: fullName(column) };
  if (BLOOD_PRESSURE.panel.some((code) => codes.includes(code)))
    return { key: BLOOD_PRESSURE.panel[0] ?? '', name: PRESSURE_NAME };
  const name = conceptText(content.code) ?? observationName(content);
  return { key: codes[0] ?? name.toLowerCase(), name };
}

export const PRESSURE_NAME = 'Blood pressure';
const fullName = ({ title }: { title: string }): string => title.replace('Temp.', 'Temperature');
const ORDER = [PRESSURE_NAME, ...VITAL_SIGNS.map(fullName)];

/** The place of a vital sign among others, by its name: as in the flow sheet, others at the end. */
export const vitalPlace = (name: string): number =>
  ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length;

/** How a value compares with the one before: `up from 70 kg on 3 Jan 2023`. */
function trend(now: Measurement, before: Measurement, day: string): string {
  if (now.text === before.text) return `same on ${day}`;
  if (now.amount === undefined || before.amount === undefined || now.unit !== before.unit)
    return `before: ${before.text} on ${day}`;
  return `${now.amount > before.amount ? 'up' : 'down'} from ${before.text} on ${day}`;
}

const RETRACTED = ['entered-in-error', 'cancelled'];

/** The last values of one vital sign, and the one before. */
interface Vital {
  name: string;
  /** As the source wrote it, and as an instant for comparison. */
  time: unknown;
  at: string;
  /** More than one if sources differ about the same time. */
  last: Measurement[];
  flags: string[];
  before?: { value: Measurement; day: string };
}

export const vitalsBlock: BlockRule = {
  section: 'vital-signs',
  title: 'Last vital signs',
  types: ['Observation'],
  itemsMax: 14,
  item: ['further vital sign', 'further vital signs'],
  collect: () => {
    const vitals = new Map<string, Vital>();
    const others = new Counts();
    return {
      take: ({ content }) => {
        if (categoryOf(content) !== 'vital-signs' || isEmpty(content)) return;
        const value = measurementOf(content);
        if (RETRACTED.includes(String(content.status))) others.add('retracted measurement');
        else if (value === undefined)
          others.add('measurement without a value', 'measurements without a value');
        else if (!take(vitals, content, value)) others.add('earlier measurement');
      },
      collected: () => ({
        items: [...vitals]
          .sort(([, left], [, right]) => vitalPlace(left.name) - vitalPlace(right.name))
          .map(([, vital]) => vitalItem(vital)),
        none: others.isEmpty ? undefined : 'No valid measurement was delivered.',
        others,
      }),
    };
  },
};

const timeOf = ({ effectiveDateTime, effectivePeriod, issued }: Json): unknown =>
  effectiveDateTime ?? (effectivePeriod as Json | undefined)?.start ?? issued;

/** Takes measurements newest first; false for those that are not shown. */
function take(vitals: Map<string, Vital>, content: Json, value: Measurement): boolean {
  const { key, name } = measuredThing(content);
  const time = timeOf(content);
  const at = moment(time) ?? '';
  const vital = vitals.get(key);
  const flags = [content, ...objectsOf(content.component)]
    .map(flagOf)
    .flatMap((flag) => (flag?.isAlert ? [flag.text] : []));
  if (vital === undefined) {
    vitals.set(key, { name, time, at, last: [value], flags });
    return true;
  }
  if (vital.at === at) {
    const isKnown = vital.last.some(({ text }) => text === value.text);
    if (!isKnown) vital.last.push(value);
    vital.flags.push(...flags);
    return !isKnown;
  }
  const [last] = vital.last;
  const isBefore = vital.before === undefined && vital.last.length === 1 && last?.unit === value.unit;
  if (isBefore) vital.before = { value, day: dayText(time) ?? 'an unknown day' };
  return isBefore;
}

function vitalItem({ name, time, last, flags, before }: Vital): OverviewItem {
  const [newest] = last;
  const flagged = flags.length === 0 ? '' : ` (${unique(flags).join(', ')})`;
  return {
    text: `${name}: ${last.map(({ text }) => text).join(' or ')}${flagged}`,
    detail: unique([
      dayText(time) ?? 'undated',
      before && newest && trend(newest, before.value, before.day),
    ]).join('; '),
    ...(flags.length > 0 && { tone: 'alert' as const }),
  };
}

/** One test's results of the last year. */
interface Test {
  results: number;
  abnormal: number;
  newestAbnormal?: OverviewItem & { isCritical: boolean };
  /** The newest result, if it is not flagged as abnormal. */
  newest?: string;
}

/**
 * Results of the last year (undated ones too) that are flagged as abnormal, by the source or by their reference range; one
 * item per test. Says how many could not be judged, because an absent flag does not mean a normal result.
 */
export const abnormalBlock: BlockRule = {
  section: 'results',
  title: 'Abnormal results of the last year',
  types: ['Observation'],
  itemsMax: 25,
  item: ['abnormal test', 'abnormal tests'],
  collect: (context) => {
    const tests = new Map<string, Test>();
    const others = new Counts();
    let ofLastYear = 0;
    let unjudged = 0;

    function takeRecent(content: Json): void {
      const value = measurementOf(content);
      if (value === undefined) return;
      ofLastYear += 1;
      const parts = [content, ...objectsOf(content.component)];
      const flags = parts.map(flagOf);
      const alerts = flags.flatMap((flag) => (flag?.isAlert ? [flag.text] : []));
      if (alerts.length === 0 && parts.some(isNotJudged)) unjudged += 1;
      const { key } = measuredThing(content);
      const test: Test = tests.get(key) ?? { results: 0, abnormal: 0 };
      tests.set(key, test);
      test.results += 1;
      const day =
        firstDay(content, 'effectiveDateTime', 'effectivePeriod', 'effectiveInstant', 'issued') ?? 'undated';
      if (alerts.length === 0) {
        if (test.results === 1) test.newest = `${value.text} (${day})`;
        return;
      }
      test.abnormal += 1;
      test.newestAbnormal ??= {
        text: `${observationName(content)}: ${value.text} (${unique(alerts).join(', ')})`,
        detail: unique([day, rangesText(parts)]).join('; '),
        tone: 'alert',
        isCritical: alerts.some((text) => text.startsWith('Critically')),
      };
    }

    return {
      take: (entry) => {
        const { content } = entry;
        if (categoryOf(content) === 'vital-signs' || isEmpty(content)) return;
        const isAbnormal = [content, ...objectsOf(content.component)].some((part) => flagOf(part)?.isAlert);
        // Social history and the like are no results, unless a source flagged them.
        if (categoryOf(content) === 'other' && !isAbnormal) return;
        if (content.status === 'entered-in-error' || content.status === 'cancelled')
          others.add('retracted result');
        else if (isOfLastYear(entry, context)) takeRecent(content);
        else if (isAbnormal) others.add('older abnormal result');
        else others.add('older result');
      },
      collected: () => {
        const abnormal = [...tests.values()].flatMap((test) =>
          test.newestAbnormal === undefined ? [] : [{ ...test, newestAbnormal: test.newestAbnormal }],
        );
        const critical = abnormal.filter(({ newestAbnormal }) => newestAbnormal.isCritical);
        const rest = abnormal.filter(({ newestAbnormal }) => !newestAbnormal.isCritical);
        return {
          items: [...critical, ...rest].map(testItem),
          none:
            ofLastYear === 0 && others.isEmpty
              ? undefined
              : ofLastYear === 0
                ? 'No results of the last year were delivered.'
                : `None of the ${counted(ofLastYear, 'result')} of the last year is flagged as abnormal.`,
          remarks:
            unjudged === 0
              ? []
              : [
                  `${counted(unjudged, 'result')} of the last year came without a flag and without a usable reference range: nothing can be said about ${unjudged === 1 ? 'it' : 'them'} here.`,
                ],
          others,
        };
      },
    };
  },
};

const isNotJudged = (part: Json): boolean => valueIn(part) !== undefined && !isJudged(part);

const rangesText = (parts: readonly Json[]): string => {
  const ranges = unique(parts.map(referenceRanges)).join('; ');
  return ranges === '' ? '' : `reference range ${ranges}`;
};

function testItem({
  results,
  abnormal,
  newest,
  newestAbnormal,
}: Test & { newestAbnormal: OverviewItem }): OverviewItem {
  const { text, detail, tone } = newestAbnormal;
  return {
    text,
    detail: unique([
      detail,
      results > 1 ? `${abnormal} of ${results} results of the year` : undefined,
      newest && `newest, not flagged: ${newest}`,
    ]).join('; '),
    tone,
  };
}
