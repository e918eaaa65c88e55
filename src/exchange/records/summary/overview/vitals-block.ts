import { moment } from '../../rules/dates.ts';
import { type Json, objectsOf } from '../../rules/json.ts';
import { dayText, unique } from '../../rules/words.ts';
import { categoryOf, isEmpty } from '../observation-kind.ts';
import { flagOf } from '../observation-value.ts';
import type { OverviewItem } from '../parts.ts';
import { type BlockRule, Counts } from './block-rule.ts';
import { type Measurement, measuredThing, measurementOf, trend, vitalPlace } from './measurement.ts';

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
