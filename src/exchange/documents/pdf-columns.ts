import type { Column } from '../records/summary/parts.ts';
import { type Block, type Cell, plainText } from './readable-document.ts';

type Table = Extract<Block, { kind: 'table' }>;

/** Rows that say how wide the columns are; more of them say the same. */
const MEASURED_ROWS = 200;
/** Characters: narrower than the first no column gets, longer than the second counts no more. */
const [SHORTEST, LONGEST] = [5, 60];

/** The table as rows of one text for each column, and columns as wide as what stands in them asks for. */
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

const columnsOf = (cells: readonly Cell[]): number => cells.reduce((sum, { columns }) => sum + columns, 0);
const unique = (texts: readonly (string | undefined)[]): string =>
  [...new Set(texts.filter(Boolean))].join(' ');

/** Between its longest word, which is not to be broken, and its longest text. */
function widthOf(texts: readonly string[]): number {
  const longestOf = (parts: readonly string[]) => Math.max(SHORTEST, ...parts.map(({ length }) => length));
  const word = Math.min(longestOf(texts.flatMap((text) => text.split(/\s+/))), LONGEST / 2);
  const whole = Math.min(longestOf(texts.flatMap((text) => text.split('\n'))), LONGEST);
  return word + (whole - word) / 2;
}

/** Cells in their places; what spans several is written in the first. */
function grid(rows: readonly (readonly Cell[])[], count: number): string[][] {
  // How many further rows each column is taken for by a cell above.
  const taken: number[] = Array.from({ length: count }, () => 0);
  return rows.map((cells) => {
    const texts: string[] = Array.from({ length: count }, () => '');
    const isTaken = taken.map((left) => left > 0);
    for (const [column, left] of taken.entries()) taken[column] = Math.max(0, left - 1);
    let column = 0;
    for (const cell of cells) {
      while (isTaken[column]) column += 1;
      const text = plainText(cell.runs);
      // Beyond the last column there is none when spans overlap: with the last one it is still read.
      const at = Math.min(column, count - 1);
      texts[at] = [texts[at], text].filter(Boolean).join(' ');
      for (let next = column; next < Math.min(count, column + cell.columns); next += 1)
        taken[next] = Math.max(taken[next] ?? 0, cell.rows - 1);
      column += cell.columns;
    }
    return texts;
  });
}
