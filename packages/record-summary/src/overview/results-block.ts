import {
  canBeOneMoment,
  clinicalTime,
  isBefore,
  moment,
} from '../fhir/dates.ts';
import { type Distinction, distinctionsOf } from '../fhir/distinctions.ts';
import { isJson, type Json } from '../fhir/json.ts';
import { codesOf, conceptText, firstDay, unique } from '../fhir/words.ts';
import {
  categoryOf,
  isAdvanceDirective,
  isEmpty,
  isJudged,
  notesOf,
  referenceRanges,
  remarksOn,
  timeOf,
  valueWithUnit,
  withRemarks,
} from '../observation.ts';
import { NOTHING, type OverviewItem } from '../parts.ts';
import {
  type Collect,
  isOfLastYear,
  LeftOutCounts,
  referencesOf,
  withAge,
  yearsAgo,
} from './block-rule.ts';
import {
  alertsOf,
  type DayItem,
  inBrackets,
  keyWith,
  type Measurement,
  measurementOf,
  ofOneDay,
  partsIn,
  RETRACTED,
  roundedTo,
  shortOf,
  trend,
} from './measurement.ts';
import { rankOfTest, type TestRank } from './test-groups.ts';

/** Results that are older than so many years say how old they are. */
const AGE_FROM = 3;

interface Result {
  value: Measurement;
  alerts: string[];
  /** Its status unless it is final, and whom it is about. */
  remarks: string[];
  /** The comment of its laboratory, shortened. */
  comment?: string;
  day: string;
  /** `9 years ago`; '' for a newer one. */
  ago: string;
  at: string;
}

/**
 * One test's results, newest first: the last one and the one before. Several of
 * one time stand side by side: none is the later one.
 */
interface Test {
  name: string;
  /** The same for tests that one line shows. */
  line: string;
  rank: TestRank;
  distinctions: readonly Distinction[];
  /** Date and report, for the order. */
  date: string;
  report: { name: string; place: number };
  ranges: string;
  isJudged: boolean;
  last: Result[];
  before: Result[];
  newestAbnormal?: Result;
  /** All that are valid and have a value, and those that the line names. */
  results: number;
  named: number;
  /** Of the last year. */
  recent: number;
  recentAbnormal: number;
  of: OverviewItem['of'][number][];
}

/** What a result is of. */
interface Thing {
  key: string;
  name: string;
  distinctions: readonly Distinction[];
  rank: TestRank;
}

/**
 * Whether a result with a plain value is older than those that its line names,
 * so that it is only counted. Most results of a long record are.
 */
const isBeforeAll = (content: Json, { before: [before] }: Test): boolean =>
  before !== undefined &&
  isJson(content.valueQuantity) &&
  typeof content.valueQuantity.value === 'number' &&
  content.dataAbsentReason === undefined &&
  isBefore(moment(timeOf(content)) ?? '', before.at);

const isOfAnotherBlock = (category: string, content: Json): boolean =>
  category === 'vital-signs' || isEmpty(content) || isAdvanceDirective(content);

/**
 * All tests, one item each with its newest result, whatever its age, and how it
 * compares with the one before. Critical ones come first, then those that a
 * source or the reference range calls abnormal, then by what a test is for
 * (`test-groups.ts`). An absent flag does not mean a normal result, so it says
 * how many tests could not be judged.
 */
export const collectResults: Collect = (context, itemsMax) => {
  const tests = new Map<string, Test>();
  const others = new LeftOutCounts();
  const { madeAt, lookup } = context;

  const isRecent = isOfLastYear(context);

  function add(
    content: Json,
    { key, name, distinctions, rank }: Thing,
    result: Result,
  ): void {
    const { alerts } = result;
    const unusual = distinctions.filter((each) => each.isUsual !== true);
    const test = tests.get(key) ?? {
      name,
      line: keyWith(rank.known ?? key, unusual),
      rank,
      distinctions,
      ranges: rangesText(partsIn(content)),
      isJudged: alerts.length > 0 || !partsIn(content).some(isNotJudged),
      last: [],
      before: [],
      date: clinicalTime(content).sortDate.slice(0, 10),
      report: lookup.reports.get(String(content.id)) ?? NO_REPORT,
      results: 0,
      named: 0,
      recent: 0,
      recentAbnormal: 0,
      of: [],
    };
    tests.set(key, test);

    test.results += 1;
    if (place(test, result)) {
      test.named += 1;
      test.of.push(...referencesOf([{ content }]));
    }
    const isNew = isRecent(content);
    if (isNew) test.recent += 1;
    if (alerts.length === 0) return;
    if (isNew) test.recentAbnormal += 1;
    if (isNew || test.last.includes(result)) test.newestAbnormal ??= result;
  }

  return {
    take: (entry) => {
      const { content } = entry;
      const category = categoryOf(content);
      if (isOfAnotherBlock(category, content)) return;
      // Social history and the like are no results, unless a source flagged
      // them.
      if (
        category === 'other' &&
        (content.focus !== undefined || alertsOf(content).length === 0)
      )
        return;
      if (RETRACTED.includes(String(content.status)))
        return others.add('retracted result');
      const codes = codesOf(content.code);
      const name = conceptText(content.code);
      const distinctions = distinctionsOf(content, lookup.linked);
      const key = keyWith(
        codes[0] ?? (name ?? NOTHING).toLowerCase(),
        distinctions,
      );
      const known = tests.get(key);
      if (
        known !== undefined &&
        isBeforeAll(content, known) &&
        !isRecent(content)
      ) {
        known.results += 1;
        return;
      }
      const rank = known?.rank ?? rankOfTest(codes, name ?? '');
      const value = measurementOf(roundedTo(content, rank.digits));
      if (value === undefined)
        return others.add('result without a value', 'results without a value');
      const thing = { key, name: name ?? NOTHING, distinctions, rank };
      const day = firstDay(
        content,
        'effectiveDateTime',
        'effectivePeriod',
        'effectiveInstant',
        'issued',
      );
      add(content, thing, {
        value,
        alerts: alertsOf(content),
        remarks: remarksOn(content),
        comment: commentOn(content),
        day: day ?? 'undated',
        ago: yearsAgo(content, madeAt, AGE_FROM),
        at: moment(timeOf(content)) ?? '',
      });
    },
    collected: () => {
      const all = [...tests.values()];
      const lines = inOneLine(all);
      const shown = named(lines)
        .sort(inOrder)
        .filter(
          (test, index) =>
            index < (isMinor(test) ? SHOWN_WITH_MINOR : itemsMax),
        );
      others.add('further test', 'further tests', lines.length - shown.length);
      const results = all.reduce((sum, test) => sum + test.results, 0);
      const told = lines.reduce((sum, test) => sum + test.named, 0);
      others.add('earlier result', 'earlier results', results - told);
      const unjudged = shown.filter((test) => !test.isJudged).length;
      return {
        ...ofOneDay(shown.map(testItem)),
        none: others.isEmpty ? undefined : 'No result has a value.',
        remarks:
          unjudged === 0
            ? []
            : [
                `Not judged: ${unjudged} of ${shown.length} have neither a flag nor a usable reference range.`,
              ],
        others,
      };
    },
  };
};

/**
 * Tests that are one to a clinician, as a panel in serum and in blood, with
 * their newest results: of these, what says the same of the same time stands
 * once.
 */
function inOneLine(tests: readonly Test[]): Test[] {
  const lines = new Map<string, Test[]>();
  for (const test of tests)
    lines.set(test.line, [...(lines.get(test.line) ?? []), test]);
  return [...lines.values()].flatMap((all) => {
    const newest = all.reduce(
      (latest, { date }) => (date > latest ? date : latest),
      '',
    );
    return withoutSame(all.filter(({ date }) => date === newest));
  });
}

function withoutSame(tests: readonly Test[]): Test[] {
  const kept: Test[] = [];
  for (const test of tests) {
    const at = kept.findIndex((other) => saysTheSame(other, test));
    const other = kept[at];
    if (other === undefined) kept.push(test);
    else kept[at] = together(other, test);
  }
  return kept;
}

const valuesOf = (results: readonly Result[]): string =>
  results
    .map(({ value, alerts }) => `${value.text} ${alerts.join()}`)
    .sort()
    .join('|');

const saysTheSame = (one: Test, other: Test): boolean =>
  valuesOf(one.last) === valuesOf(other.last);

/** The line with the later value before, which says more of where it leads. */
function together(one: Test, other: Test): Test {
  const isLater = (other.before[0]?.at ?? '') > (one.before[0]?.at ?? '');
  const [kept, left] = isLater ? [other, one] : [one, other];
  return {
    ...kept,
    of: [...kept.of, ...left.of],
    named: kept.named + left.last.length,
    isJudged: kept.isJudged || left.isJudged,
    ranges: kept.ranges || left.ranges,
  };
}

/**
 * Puts a result beside the last ones or the ones before, if it is of their
 * time; false if the line does not name it.
 */
function place({ last, before }: Test, result: Result): boolean {
  const of = [last, before].find(
    ([first]) => first !== undefined && canBeOneMoment(first.at, result.at),
  );
  if (of !== undefined) {
    const isKnown = of.some(({ value }) => value.text === result.value.text);
    if (!isKnown) of.push(result);
    return true;
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

/** Minor tests are shown as long as there are fewer lines than these. */
const SHOWN_WITH_MINOR = 15;
const isMinor = (test: Test): boolean =>
  test.rank.isMinor && urgency(test) === 0;

const NO_REPORT = { name: '\uffff', place: 0 };

/**
 * Critical and abnormal ones first, then by what they are for, then the newest;
 * those of one day by report, in its order.
 */
const inOrder = (left: Test, right: Test): number =>
  urgency(right) - urgency(left) ||
  left.rank.place - right.rank.place ||
  right.date.localeCompare(left.date) ||
  left.report.name.localeCompare(right.report.name) ||
  left.report.place - right.report.place;

const isNotJudged = (part: Json): boolean =>
  valueWithUnit(part) !== undefined && !isJudged(part);

const rangesText = (parts: readonly Json[]): string => {
  const ranges = unique(parts.map(referenceRanges)).join('; ');
  return ranges === '' ? '' : `reference range ${ranges}`;
};

const COMMENT_LENGTH_MAX = 80;

/** What the laboratory says beside a result, such as `hemolyzed sample`. */
function commentOn(content: Json): string | undefined {
  const said = notesOf(content).join('; ').replaceAll(/\s+/g, ' ').trim();
  if (said === '') return undefined;
  return said.length <= COMMENT_LENGTH_MAX
    ? `comment: ${said}`
    : `comment: ${said.slice(0, COMMENT_LENGTH_MAX).replace(/\s\S*$/, '')} … (shortened)`;
}

function testItem({
  name,
  rank,
  ranges,
  last,
  before,
  newestAbnormal,
  recent,
  recentAbnormal,
  of,
}: Test): DayItem {
  const isFlagged = last.some(({ alerts }) => alerts.length > 0);
  const isSameFlag = last[0]?.alerts.join() === before[0]?.alerts.join();
  const values = last.map(
    ({ value, alerts, remarks }) =>
      `${value.text}${inBrackets([...(last.length > 1 ? remarks : []), ...alerts])}`,
  );
  return {
    of,
    day: withAge(last[0]?.day ?? '', last[0]?.ago ?? ''),
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
        isSameFlag ? rank.percent : 0,
      ),
      ranges,
      ...last.map(({ comment }) => comment),
      newestAbnormal && !isFlagged
        ? `not flagged; abnormal: ${newestAbnormal.value.text}${inBrackets(newestAbnormal.alerts)} on ${newestAbnormal.day}`
        : undefined,
      recentAbnormal > 0 && recent > 1
        ? `${recentAbnormal} of ${recent} results of the year abnormal`
        : undefined,
    ]).join('; '),
    ...(isFlagged && { tone: 'alert' as const }),
  };
}
