import { type Json, objectsOf, textOf } from '../rules/json.ts';
import { conceptText, momentText } from '../rules/words.ts';
import type { SummaryEntry } from './entry.ts';
import { categoryOf, isEmpty } from './observation-kind.ts';
import { flagOf, observationName, referenceRanges, valueIn } from './observation-value.ts';
import { NOTHING, row, type SummaryRow } from './parts.ts';
import { type Lookup, ORIGIN, type SectionRule } from './section.ts';

const time = ({ effectiveDateTime, effectivePeriod, effectiveInstant, issued }: Json): unknown =>
  effectiveDateTime ?? (effectivePeriod as Json | undefined)?.start ?? effectiveInstant ?? issued;

interface PendingResult {
  report: string;
  place: number;
  rows: SummaryRow[];
}

/** Laboratory results grouped by time and report, in the order of the report; holds the results of one time only. */
async function* byMomentAndReport(
  entries: AsyncIterable<SummaryEntry>,
  lookup: Lookup,
): AsyncGenerator<SummaryRow> {
  let moment: string | undefined;
  let pending: PendingResult[] = [];
  for await (const entry of entries) {
    if (categoryOf(entry.content) !== 'laboratory' || isEmpty(entry.content)) continue;
    const at = momentText(time(entry.content)) ?? 'Undated';
    if (at !== moment) {
      yield* grouped(moment, pending);
      pending = [];
    }
    moment = at;
    const { name, place } = lookup.reports.get(textOf(entry.content.id) ?? '') ?? { name: '', place: 0 };
    pending.push({ report: name, place, rows: resultRows(entry) });
  }
  yield* grouped(moment, pending);
}

function* grouped(moment = '', pending: readonly PendingResult[]): Generator<SummaryRow> {
  // Results without a report come last.
  const reports = [...new Set(pending.map(({ report }) => report))].sort((left, right) =>
    left === '' ? 1 : right === '' ? -1 : 0,
  );
  for (const report of reports) {
    yield { kind: 'group', title: report === '' ? moment : `${moment} · ${report}` };
    const own = pending.filter((each) => each.report === report);
    for (const { rows } of own.sort((left, right) => left.place - right.place)) yield* rows;
  }
}

function resultRows({ content, origin }: SummaryEntry): SummaryRow[] {
  const name = observationName(content);
  const components = objectsOf(content.component);
  const isWhole = valueIn(content) !== undefined || components.length === 0;
  return [
    ...(isWhole ? [resultRow(name, content, origin)] : []),
    ...components.map((part) => resultRow(`${name}: ${conceptText(part.code) ?? NOTHING}`, part, origin)),
  ];
}

/** @param part the observation itself, or one of its components */
function resultRow(name: string, part: Json, origin: string): SummaryRow {
  const { value = '', unit = '' } = valueIn(part) ?? {};
  const flag = flagOf(part);
  return row(
    name,
    flag?.isAlert ? { text: value, tone: 'alert' } : value,
    unit,
    referenceRanges(part),
    flag?.isAlert ? { text: flag.text, tone: 'alert' } : flag?.text,
    origin,
  );
}

export const results: SectionRule = {
  id: 'results',
  title: 'Laboratory results',
  empty: 'The sources have delivered no laboratory results.',
  tables: [
    {
      caption: 'Results by day and report, newest first',
      types: ['Observation'],
      columns: [
        { title: 'Test' },
        { title: 'Value', isNumeric: true },
        { title: 'Unit' },
        { title: 'Reference range' },
        { title: 'Flag' },
        ORIGIN,
      ],
      rows: byMomentAndReport,
    },
  ],
};
