import color from 'picocolors';
import { SOURCE_TYPES, type SourceType } from '../../contract/primitives.ts';
import { renderTable } from '../table.ts';

export interface DemoRow {
  patient: string;
  status: string;
  sources: { type: SourceType; status: string; attempts: number }[];
  resources: number;
  webhooks: number;
  /** Pages in the Temporal UI: of the onboarding, and of the query that it started. */
  links: string[];
}

/** Renders a table with one line for each patient, and the patient's links below it. */
export function renderEnd(rows: readonly DemoRow[]): string {
  const [head, rule, ...lines] = renderTable(
    ['Patient', 'Query', ...SOURCE_TYPES, 'Resources', 'Webhooks'],
    rows.map((row) => [
      row.patient,
      paint(row.status, row.status),
      ...SOURCE_TYPES.map((type) => sourceCell(row, type)),
      String(row.resources),
      String(row.webhooks),
    ]),
    // One line for each patient, with the links below it.
    Number.POSITIVE_INFINITY,
  );
  const withLinks = lines.flatMap((line, index) => [
    line,
    ...(rows[index]?.links ?? []).map((link) => color.dim(`  ${link}`)),
  ]);
  return [color.bold(head), rule, ...withLinks].join('\n');
}

function sourceCell(row: DemoRow, type: SourceType): string {
  const source = row.sources.find((entry) => entry.type === type);
  if (source === undefined) return '–';
  return paint(
    source.status,
    source.attempts > 1 ? `${source.status} (${source.attempts} attempts)` : source.status,
  );
}

function paint(status: string, text: string): string {
  if (status === 'completed') return color.green(text);
  return status === 'partial' ? color.yellow(text) : color.red(text);
}
