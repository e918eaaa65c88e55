import { distinctionsOf, type LinkedResources } from './fhir/distinctions.ts';
import { isJson, type Json, objectsOf, textOf } from './fhir/json.ts';
import { codesOf, conceptText, momentText, unitOfCount } from './fhir/words.ts';
import {
  BLOOD_PRESSURE,
  categoryOf,
  flagOf,
  isEmpty,
  notesOf,
  observationName,
  referenceRanges,
  remarksOn,
  timeOf,
  VITAL_SIGNS,
  valueWithUnit,
  withRemarks,
} from './observation.ts';
import { NOTHING, row, type SummaryCell, type SummaryRow } from './parts.ts';
import {
  type Lookup,
  ORIGIN,
  type SummaryEntry,
  type TableRule,
  withoutShorter,
} from './section.ts';

const isResult = (content: Json): boolean =>
  categoryOf(content) === 'laboratory' && !isEmpty(content);
const isVitalSign = (content: Json): boolean =>
  categoryOf(content) === 'vital-signs' && !isEmpty(content);

interface PendingResult {
  report: string;
  place: number;
  rows: SummaryRow[];
}

/**
 * Laboratory results grouped by time and report, in the order of the report;
 * holds the results of one time only.
 */
async function* byMomentAndReport(
  entries: AsyncIterable<SummaryEntry>,
  lookup: Lookup,
): AsyncGenerator<SummaryRow> {
  let moment: string | undefined;
  let pending: PendingResult[] = [];
  for await (const entry of entries) {
    if (!isResult(entry.content)) continue;
    const at = momentText(timeOf(entry.content)) ?? 'Undated';
    if (at !== moment) {
      yield* grouped(moment, pending);
      pending = [];
    }
    moment = at;
    const { name, place } = lookup.reports.get(
      textOf(entry.content.id) ?? '',
    ) ?? { name: '', place: 0 };
    pending.push({ report: name, place, rows: resultRows(entry, lookup) });
  }
  yield* grouped(moment, pending);
}

function* grouped(
  moment = '',
  pending: readonly PendingResult[],
): Generator<SummaryRow> {
  // Results without a report come last.
  const reports = [...new Set(pending.map(({ report }) => report))].sort(
    (left, right) => (left === '' ? 1 : right === '' ? -1 : 0),
  );
  for (const report of reports) {
    yield {
      kind: 'group',
      title: report === '' ? moment : `${moment} · ${report}`,
    };
    const own = pending.filter((each) => each.report === report);
    for (const { rows } of own.sort((left, right) => left.place - right.place))
      yield* rows;
  }
}

function resultRows(
  { content, origin }: SummaryEntry,
  { linked }: Lookup,
): SummaryRow[] {
  const name = observationName(content, linked);
  const components = objectsOf(content.component);
  const comment = notesOf(content).join('; ');
  const isWhole =
    valueWithUnit(content) !== undefined || components.length === 0;
  return [
    ...(isWhole ? [resultRow(name, content, origin, comment)] : []),
    ...components.map((part, index) =>
      resultRow(
        `${name}: ${conceptText(part.code) ?? NOTHING}`,
        part,
        origin,
        isWhole || index > 0 ? '' : comment,
      ),
    ),
  ];
}

/** @param part the observation itself, or one of its components */
function resultRow(
  name: string,
  part: Json,
  origin: string,
  comment: string,
): SummaryRow {
  const { value = '', unit = '' } = valueWithUnit(part) ?? {};
  const flag = flagOf(part);
  return row(
    name,
    flag?.isAlert ? { text: value, tone: 'alert' } : value,
    unit,
    referenceRanges(part),
    flag?.isAlert ? { text: flag.text, tone: 'alert' } : flag?.text,
    comment,
    origin,
  );
}

export const resultTable: TableRule = {
  caption: 'Results by day and report, newest first',
  types: ['Observation'],
  columns: [
    { title: 'Test' },
    { title: 'Value', isNumeric: true },
    { title: 'Unit' },
    { title: 'Reference range' },
    { title: 'Flag' },
    { title: 'Comment' },
    ORIGIN,
  ],
  shows: isResult,
  rows: byMomentAndReport,
};

/** The measurements of one time: a line of the flow sheet. */
class Line {
  readonly #cells = new Map<string, string[]>();
  readonly #others: string[] = [];
  readonly #origins: string[] = [];
  #isAlert = new Set<string>();
  readonly moment: string | undefined;
  private readonly linked: LinkedResources;

  constructor(moment: string | undefined, linked: LinkedResources) {
    this.moment = moment;
    this.linked = linked;
  }

  take({ content, origin }: SummaryEntry): void {
    this.#origins.push(origin);
    this.#measure(content);
    this.#others.push(...notesOf(content));
  }

  #measure(content: Json): void {
    // Retracted or cancelled measurements get no column of their own.
    if (
      content.status === 'entered-in-error' ||
      content.status === 'cancelled'
    ) {
      this.#others.push(lineOf(content, this.linked));
      return;
    }
    const remarks = [
      ...distinctionsOf(content, this.linked).map(({ text }) => text),
      ...remarksOn(content),
    ];
    const systolic = componentWithCode(content, BLOOD_PRESSURE.systolic);
    const diastolic = componentWithCode(content, BLOOD_PRESSURE.diastolic);
    if (systolic !== undefined || diastolic !== undefined) {
      const over = (systolic && valueWithUnit(systolic)?.value) ?? '?';
      const under = (diastolic && valueWithUnit(diastolic)?.value) ?? '?';
      this.#put(
        'bp',
        withRemarks(`${over}/${under}`, remarks),
        [systolic, diastolic].some(isAlert),
      );
      const known = [systolic, diastolic];
      for (const part of objectsOf(content.component).filter(
        (each) => !known.includes(each),
      ))
        this.#others.push(lineOf(part, this.linked));
      return;
    }
    const codes = codesOf(content.code);
    const column = VITAL_SIGNS.find((each) =>
      each.codes.some((code) => codes.includes(code)),
    );
    const value = valueWithUnit(content);
    if (column === undefined || value === undefined) {
      this.#others.push(lineOf(content, this.linked));
      return;
    }
    const quantity = isJson(content.valueQuantity) ? content.valueQuantity : {};
    const isOfColumn = unitOfCount(quantity) === column.unit;
    const text = isOfColumn
      ? value.value
      : `${value.value} ${value.unit}`.trim();
    this.#put(column.title, withRemarks(text, remarks), isAlert(content));
  }

  #put(name: string, text: string, alert: boolean): void {
    const texts = this.#cells.get(name) ?? [];
    if (!texts.includes(text)) this.#cells.set(name, [...texts, text]);
    if (alert) this.#isAlert.add(name);
  }

  toRow(): SummaryRow {
    const cell = (name: string): SummaryCell => ({
      text: this.#cells.get(name)?.join('; ') ?? NOTHING,
      ...(this.#isAlert.has(name) && { tone: 'alert' }),
    });
    return row(
      this.moment ?? 'Undated',
      cell('bp'),
      ...VITAL_SIGNS.map(({ title }) => cell(title)),
      this.#others.join('; '),
      withoutShorter(
        this.#origins.flatMap((origin) => origin.split(', ')),
      ).join(', '),
    );
  }
}

export const componentWithCode = (
  content: Json,
  code: string,
): Json | undefined =>
  objectsOf(content.component).find((part) =>
    codesOf(part.code).includes(code),
  );

const isAlert = (of: Json | undefined): boolean =>
  of !== undefined && flagOf(of)?.isAlert === true;

/** A measurement without a column, as text, including its components. */
function lineOf(content: Json, linked: LinkedResources): string {
  const parts = objectsOf(content.component);
  const { value = '', unit = '' } = valueWithUnit(content) ?? {};
  const own = `${observationName(content, linked)}: ${`${value} ${unit}`.trim() || (parts.length > 0 ? '' : NOTHING)}`;
  const flag = flagOf(content);
  return [
    flag?.isAlert ? `${own} (${flag.text})` : own.trim(),
    ...parts.map((part) => lineOf(part, linked)),
  ].join(' ');
}

async function* flowSheet(
  entries: AsyncIterable<SummaryEntry>,
  { linked }: Lookup,
): AsyncGenerator<SummaryRow> {
  let line: Line | undefined;
  for await (const entry of entries) {
    const { content } = entry;
    if (!isVitalSign(content)) continue;
    const moment = momentText(timeOf(content));
    if (line === undefined || line.moment !== moment) {
      if (line !== undefined) yield line.toRow();
      line = new Line(moment, linked);
    }
    line.take(entry);
  }
  if (line !== undefined) yield line.toRow();
}

export const vitalSignTable: TableRule = {
  caption: 'Vital signs, newest first',
  types: ['Observation'],
  columns: [
    { title: 'Date' },
    { title: 'BP (mmHg)', isNumeric: true },
    ...VITAL_SIGNS.map(({ title, unit }) => ({
      title: `${title} (${unit})`,
      isNumeric: true,
    })),
    { title: 'Other' },
    ORIGIN,
  ],
  shows: isVitalSign,
  rows: flowSheet,
};
