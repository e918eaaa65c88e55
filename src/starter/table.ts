import { stripVTControlCharacters } from 'node:util';

/** Renders a table as lines: head, rule, rows. Cells may contain colour codes, which do not count for the width. */
export function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const widths = head.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map(visibleLength)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - visibleLength(cell))))
      .join('  ')
      .trimEnd();
  return [line(head), line(widths.map((width) => '─'.repeat(width))), ...rows.map(line)];
}

const visibleLength = (text: string): number => [...stripVTControlCharacters(text)].length;
