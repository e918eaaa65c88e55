import {
  type Column,
  NOTHING,
  type SummaryPart,
  type SummaryRow,
} from './parts.ts';

/**
 * Rows that are kept to fit the columns to them; a longer table keeps all its
 * columns, in widths that fit its first rows.
 */
const KEPT_MAX = 1_000;

type Table = Extract<SummaryPart, { kind: 'table' }>;
interface Held {
  table: Table;
  rows: SummaryRow[];
}

/**
 * Fits tables to their content: no columns without a value, and each column as
 * wide as its values need.
 */
export async function* fittedTables(
  parts: AsyncIterable<SummaryPart>,
): AsyncGenerator<SummaryPart> {
  let held: Held | undefined;
  for await (const part of parts) {
    if (part.kind === 'table') held = { table: part, rows: [] };
    else if (held === undefined) yield part;
    else if (part.kind === 'row' || part.kind === 'group') {
      if (held.rows.push(part) < KEPT_MAX) continue;
      yield withWidths(held);
      yield* held.rows;
      held = undefined;
    } else {
      const fitted = withoutEmptyColumns(held);
      yield withWidths(fitted);
      yield* fitted.rows;
      yield part;
      held = undefined;
    }
  }
}

function withoutEmptyColumns({ table, rows }: Held): Held {
  // The first column names the row.
  const shown = table.columns.map(
    (_, index) => index === 0 || rows.some((row) => hasValue(row, index)),
  );
  return {
    table: {
      ...table,
      columns: table.columns.filter((_, index) => shown[index]),
    },
    rows: rows.map((row) =>
      row.kind === 'group'
        ? row
        : { kind: 'row', cells: row.cells.filter((_, index) => shown[index]) },
    ),
  };
}

const hasValue = (row: SummaryRow, index: number): boolean =>
  row.kind === 'row' && row.cells[index]?.text !== NOTHING;

function withWidths({ table, rows }: Held): Table {
  const widths = columnWidths(table.columns, rows);
  return {
    ...table,
    columns: table.columns.map((column, index) => ({
      ...column,
      width: widths[index] ?? 0,
    })),
  };
}

/**
 * What a line of a PDF page holds, in widths of a lower-case letter; an HTML
 * page on a desktop holds more.
 */
const LINE = 128;
/** The space between two columns. */
const PADDING = 2;
/** Longer texts wrap, whatever their column could be. */
const WIDEST = 64;
/** A column need not be as wide as its few longest values. */
const ON_ONE_LINE = 0.9;

interface Need {
  /** Fits most values. */
  usual: number;
  /** Fits all, within reason. */
  longest: number;
}

/**
 * Widths of columns: each as wide as most of its values need, and what is left
 * of the line goes to those with longer ones. If a line does not hold what they
 * need, those that need more than an even share divide what the others leave.
 */
export function columnWidths(
  columns: readonly Column[],
  rows: readonly SummaryRow[],
): number[] {
  const needs = columns.map(({ title }, index) =>
    needOf(title, textsOf(rows, index)),
  );
  const widths = needs.map(({ usual }) => usual);
  const room = LINE - sum(widths);
  return room < 0 ? shared(widths) : extended(needs, room);
}

function extended(needs: readonly Need[], room: number): number[] {
  const lacking = needs.map(({ usual, longest }) => longest - usual);
  const factor = Math.min(1, room / Math.max(1, sum(lacking)));
  return needs.map(
    ({ usual }, index) => usual + (lacking[index] ?? 0) * factor,
  );
}

function shared(needs: readonly number[]): number[] {
  const wide = new Set(needs.keys());
  let room = LINE;
  // Each narrow column leaves more to the others, so that further ones may turn
  // out to be narrow.
  for (let before = -1; before !== wide.size; ) {
    before = wide.size;
    const share = room / wide.size;
    for (const index of wide) {
      const need = needs[index] ?? 0;
      if (need > share) continue;
      wide.delete(index);
      room -= need;
    }
  }
  const wanted = sum([...wide].map((index) => needs[index] ?? 0));
  return needs.map((need, index) =>
    wide.has(index) ? (need * room) / wanted : need,
  );
}

function needOf(title: string, texts: readonly string[]): Need {
  const widths = texts.map(widthOf).sort((one, other) => one - other);
  // A title may wrap, its words may not.
  const least = Math.max(...title.split(' ').map(widthOf));
  const bounded = (width = 0) =>
    Math.min(WIDEST, Math.max(width, least)) + PADDING;
  return {
    usual: bounded(widths[Math.ceil(widths.length * ON_ONE_LINE) - 1]),
    longest: bounded(widths.at(-1)),
  };
}

const textsOf = (rows: readonly SummaryRow[], index: number): string[] =>
  rows.flatMap((row) =>
    row.kind === 'row' ? [row.cells[index]?.text ?? ''] : [],
  );

/** Roughly, in widths of a lower-case letter. */
function widthOf(text: string): number {
  const capitals = text.match(/[\p{Lu}mw]/gu)?.length ?? 0;
  const square =
    text.match(
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/gu,
    )?.length ?? 0;
  return text.length + 0.4 * capitals + square;
}

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, each) => total + each, 0);
