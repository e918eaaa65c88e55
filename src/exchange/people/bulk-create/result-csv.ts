import {
  type CsvLayout,
  escapeFormula,
  RESULT_COLUMNS,
} from '../../../shared/bulk-csv/layout.ts';

/** The first line of the result CSV. */
export const resultHeader = (layout: CsvLayout): string =>
  (layout.bom ? '\uFEFF' : '') +
  csvCells([...layout.columns, ...RESULT_COLUMNS]) +
  layout.recordDelimiter;

/**
 * A row's cells, as many as the header has columns, so that the cells of the
 * result land in theirs.
 */
export function resultCells(
  cells: readonly string[],
  { columns }: CsvLayout,
): string {
  if (cells.length === columns.length) return csvCells(cells);
  return csvCells(columns.map((_, place) => cells[place] ?? ''));
}

const csvCells = (cells: readonly string[]): string =>
  cells.map(csvCell).join(',');

const NEEDS_QUOTES = /[",\r\n]/;
/** Most cells are no formula and need no quotes. */
const PLAIN = /^(?:[\dA-Za-z][^",\r\n]*)?$/;

export function csvCell(cell: string): string {
  if (PLAIN.test(cell)) return cell;
  const text = escapeFormula(cell);
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
