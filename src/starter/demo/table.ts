import color from 'picocolors';
import { SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';

export interface DemoRow {
  patient: string;
  status: string;
  sources: { type: SourceType; status: string; attempts: number }[];
  resources: number;
  webhooks: number;
  /** Of the onboarding and of the query it started, in the Temporal UI. */
  links: string[];
}

const WIDTHS = { status: 11, source: 15, count: 11 };

/** One line for each patient, its links below it. */
export function renderTable(rows: readonly DemoRow[]): string {
  const nameWidth = Math.max(...rows.map(({ patient }) => patient.length), 'Patient'.length) + 2;
  const header = [
    'Patient'.padEnd(nameWidth),
    'Query'.padEnd(WIDTHS.status),
    ...SOURCE_TYPES.map((source) => source.padEnd(WIDTHS.source)),
    'Resources'.padStart(WIDTHS.count),
    'Webhooks'.padStart(WIDTHS.count),
  ].join('');
  const lines = rows.flatMap((row) => [
    [
      row.patient.padEnd(nameWidth),
      paint(row.status, row.status.padEnd(WIDTHS.status)),
      ...SOURCE_TYPES.map((type) => sourceCell(row, type)),
      String(row.resources).padStart(WIDTHS.count),
      String(row.webhooks).padStart(WIDTHS.count),
    ].join(''),
    ...row.links.map((link) => color.dim(`  ${link}`)),
  ]);
  return [color.bold(header), ...lines].join('\n');
}

function sourceCell(row: DemoRow, type: SourceType): string {
  const source = row.sources.find((entry) => entry.type === type);
  if (source === undefined) return '–'.padEnd(WIDTHS.source);
  const text = source.attempts > 1 ? `${source.status} (${source.attempts})` : source.status;
  return paint(source.status, text.padEnd(WIDTHS.source));
}

function paint(status: string, text: string): string {
  if (status === 'completed') return color.green(text);
  return status === 'partial' ? color.yellow(text) : color.red(text);
}
