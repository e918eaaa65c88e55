import type { Column } from '../../records/summary/parts.ts';
import { type Block, type DocumentCell, runsText } from './readable-document.ts';

type Table = Extract<Block, { kind: 'table' }>;

/** Number of rows used to determine column widths; more would hardly change them. */
const MEASURED_ROWS = 200;
/** Text lengths, in characters, are clamped to this range when widths are determined. */
const [SHORTEST, LONGEST] = [5, 60];
/** Texts up to this length, such as a time or a code, count as one word. */
const UNBROKEN_MAX = 24;

/** Converts a table to rows with one text per column, and to columns whose widths fit their content. */
export function pdfColumns(table: Table): { columns: Column[]; rows: string[][] } {
  const count = Math.max(...[...table.head, ...table.rows].map(columnsOf));
  const [head, body] = [grid(table.head, count), grid(table.rows, count)];
  const titles = Array.from({ length: count }, (_, column) => unique(head.map((row) => row[column])));
  const columns = titles.map((title, column) => {
    const texts = [title, ...body.slice(0, MEASURED_ROWS).map((row) => row[column] ?? '')];
    return { title, width: widthOf(texts) };
  });
  return { columns, rows: body };
}

const columnsOf = (cells: readonly DocumentCell[]): number =>
  cells.reduce((sum, { columns }) => sum + columns, 0);
const unique = (texts: readonly (string | undefined)[]): string =>
  [...new Set(texts.filter(Boolean))].join(' ');

/** A width between the longest word, which should not be broken, and the longest text. */
function widthOf(texts: readonly string[]): number {
  const longestOf = (parts: readonly string[]) => Math.max(SHORTEST, ...parts.map(({ length }) => length));
  const pieces = texts.flatMap((text) => (text.length <= UNBROKEN_MAX ? [text] : text.split(/\s+/)));
  const word = Math.min(longestOf(pieces), LONGEST / 2);
  const whole = Math.min(longestOf(texts.flatMap((text) => text.split('\n'))), LONGEST);
  return word + (whole - word) / 2;
}

/** Puts cells into their grid positions; the text of a spanning cell is in its first position. */
function grid(rows: readonly (readonly DocumentCell[])[], count: number): string[][] {
  // For each column, the number of further rows that a cell above still covers.
  const taken: number[] = Array.from({ length: count }, () => 0);
  return rows.map((cells) => {
    const texts: string[] = Array.from({ length: count }, () => '');
    const isTaken = taken.map((left) => left > 0);
    for (const [column, left] of taken.entries()) taken[column] = Math.max(0, left - 1);
    let column = 0;
    for (const cell of cells) {
      while (isTaken[column]) column += 1;
      const text = runsText(cell.runs);
      // Overlapping spans may push a cell beyond the last column; its text is appended to the last column.
      const at = Math.min(column, count - 1);
      texts[at] = [texts[at], text].filter(Boolean).join(' ');
      for (let next = column; next < Math.min(count, column + cell.columns); next += 1)
        taken[next] = Math.max(taken[next] ?? 0, cell.rows - 1);
      column += cell.columns;
    }
    return texts;
  });
}
