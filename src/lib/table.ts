import { stripVTControlCharacters } from 'node:util';
import { terminalOutput } from './escape.ts';
import { widthOf } from './output-width.ts';

type Row = readonly string[];

const GAP = 2;

/**
 * Renders a table as lines: head, rule, rows. Cells may contain colour codes,
 * which do not count for the width. A table that is wider than the terminal
 * gets cells of several lines; if its words (such as ids, which must stay
 * whole) are too wide even then, each row becomes a list of its own. Output
 * that is no terminal has no width, unless COLUMNS states one.
 */
export function renderTable(
  head: Row,
  given: readonly Row[],
  columns = columnsOfOutput(),
): string[] {
  const rows = given.map((row) =>
    row.map((cell) => terminalOutput(cell).replaceAll(/[\n\t]+/g, ' ')),
  );
  const widths = fittedWidths([head, ...rows], columns);
  if (widths === undefined) return asLists(head, rows, columns);
  const rule = widths.map((width) => '─'.repeat(width));
  return [head, rule, ...rows].flatMap((cells) => linesOf(cells, widths));
}

const columnsOfOutput = (): number =>
  widthOf(process.stdout) ?? Number.POSITIVE_INFINITY;

/**
 * Narrows the widest columns until the table fits; undefined when single words
 * are too wide for that.
 */
function fittedWidths(
  rows: readonly Row[],
  columns: number,
): number[] | undefined {
  const widestOf = (measure: (cell: string) => number) =>
    (rows[0] ?? []).map((_, column) =>
      Math.max(...rows.map((row) => measure(row[column] ?? ''))),
    );
  const widths = widestOf(visibleLength);
  const words = widestOf((cell) =>
    Math.max(...cell.split(' ').map(visibleLength)),
  );
  let excess = widths.reduce((sum, width) => sum + width + GAP, -GAP) - columns;
  for (; excess > 0; excess--) {
    const rooms = widths.map((width, column) =>
      width > (words[column] ?? 0) ? width : 0,
    );
    const widest = rooms.indexOf(Math.max(...rooms));
    if (!rooms[widest]) return undefined;
    widths[widest] = rooms[widest] - 1;
  }
  return widths;
}

function linesOf(cells: Row, widths: readonly number[]): string[] {
  const wrapped = widths.map((width, column) =>
    wrap(cells[column] ?? '', width),
  );
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    widths
      .map((width, column) => {
        const text = wrapped[column]?.[line] ?? '';
        return text + ' '.repeat(Math.max(0, width - visibleLength(text)));
      })
      .join(' '.repeat(GAP))
      .trimEnd(),
  );
}

function asLists(head: Row, rows: readonly Row[], columns: number): string[] {
  const nameWidth = Math.max(...head.map(visibleLength));
  const widths = [nameWidth, Math.max(1, columns - nameWidth - GAP)];
  return rows.flatMap((row, index) => [
    ...(index === 0 ? [] : ['']),
    ...head.flatMap((name, column) =>
      linesOf([name, row[column] ?? ''], widths),
    ),
  ]);
}

/** Breaks a cell between words. Spaces within a line stay as they are. */
function wrap(text: string, width: number): string[] {
  if (visibleLength(text) <= width) return [text];
  const lines: string[] = [];
  let line: string | undefined;
  for (const word of text.split(' ')) {
    const longer: string = line === undefined ? word : `${line} ${word}`;
    if (line === undefined || visibleLength(longer) <= width) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line ?? ''];
}

const visibleLength = (text: string): number =>
  [...stripVTControlCharacters(text)].length;
