import { type Json, objectsOf } from '../rules/json.ts';
import { codesOf, momentText, unique } from '../rules/words.ts';
import type { SummaryEntry } from './entry.ts';
import { BLOOD_PRESSURE, categoryOf, isEmpty, VITAL_SIGNS } from './observation-kind.ts';
import { flagOf, observationName, valueIn } from './observation-value.ts';
import { NOTHING, row, type SummaryCell, type SummaryRow } from './parts.ts';
import type { SectionRule } from './section.ts';

/** The measurements of one time: a line of the flow sheet. */
class Line {
  readonly #cells = new Map<string, string[]>();
  readonly #others: string[] = [];
  readonly #origins: string[] = [];
  #isAlert = new Set<string>();

  constructor(readonly moment: string | undefined) {}

  take({ content, origin }: SummaryEntry): void {
    this.#origins.push(origin);
    // Retracted or cancelled measurements get no column of their own.
    if (content.status === 'entered-in-error' || content.status === 'cancelled') {
      this.#others.push(textOf(content));
      return;
    }
    const [systolic, diastolic] = [BLOOD_PRESSURE.systolic, BLOOD_PRESSURE.diastolic].map((code) =>
      componentOf(content, code),
    );
    if (systolic !== undefined || diastolic !== undefined) {
      const [over, under] = [systolic, diastolic].map((part) => (part && valueIn(part)?.value) ?? '?');
      this.#put('bp', `${over}/${under}`, [systolic, diastolic].some(isAlert));
      const known = [systolic, diastolic];
      for (const part of objectsOf(content.component).filter((each) => !known.includes(each)))
        this.#others.push(textOf(part));
      return;
    }
    const codes = codesOf(content.code);
    const column = VITAL_SIGNS.find((each) => each.codes.some((code) => codes.includes(code)));
    const value = valueIn(content);
    if (column === undefined || value === undefined) this.#others.push(textOf(content));
    else
      this.#put(
        column.title,
        value.unit === column.unit ? value.value : `${value.value} ${value.unit}`,
        isAlert(content),
      );
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
      unique(this.#origins.flatMap((origin) => origin.split(', '))).join(', '),
    );
  }
}

export const componentOf = (content: Json, code: string): Json | undefined =>
  objectsOf(content.component).find((part) => codesOf(part.code).includes(code));

const isAlert = (of: Json | undefined): boolean => of !== undefined && flagOf(of)?.isAlert === true;

/** A measurement without a column, as text, including its components. */
function textOf(content: Json): string {
  const parts = objectsOf(content.component);
  const { value = '', unit = '' } = valueIn(content) ?? {};
  const own = `${observationName(content)}: ${`${value} ${unit}`.trim() || (parts.length > 0 ? '' : NOTHING)}`;
  const flag = flagOf(content);
  return [flag?.isAlert ? `${own} (${flag.text})` : own.trim(), ...parts.map(textOf)].join(' ');
}

async function* flowSheet(entries: AsyncIterable<SummaryEntry>): AsyncGenerator<SummaryRow> {
  let line: Line | undefined;
  for await (const entry of entries) {
    const { content } = entry;
    if (categoryOf(content) !== 'vital-signs' || isEmpty(content)) continue;
    const period = content.effectivePeriod as Json | undefined;
    const moment = momentText(content.effectiveDateTime ?? period?.start ?? content.issued);
    if (line === undefined || line.moment !== moment) {
      if (line !== undefined) yield line.toRow();
      line = new Line(moment);
    }
    line.take(entry);
  }
  if (line !== undefined) yield line.toRow();
}

export const vitalSigns: SectionRule = {
  id: 'vital-signs',
  title: 'Vital signs',
  empty: 'The sources have delivered no vital signs.',
  tables: [
    {
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
        { title: 'Origin' },
      ],
      rows: flowSheet,
    },
  ],
};
