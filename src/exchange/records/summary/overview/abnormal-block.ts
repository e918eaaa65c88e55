import { counted } from '../../../../lib/counted.ts';
import { type Json, objectsOf } from '../../rules/json.ts';
import { firstDay, unique } from '../../rules/words.ts';
import { categoryOf, isEmpty } from '../observation-kind.ts';
import { flagOf, isJudged, observationName, referenceRanges, valueIn } from '../observation-value.ts';
import type { OverviewItem } from '../parts.ts';
import { type BlockRule, Counts, isOfLastYear } from './block-rule.ts';
import { measuredThing, measurementOf } from './measurement.ts';

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
