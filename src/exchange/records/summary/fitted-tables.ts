import { columnWidths } from './column-widths.ts';
import { NOTHING, type SummaryPart, type SummaryRow } from './parts.ts';

/** Rows that are kept to fit the columns to them; a longer table keeps all its columns, in widths that fit its first rows. */
const KEPT_MAX = 1_000;

type Table = Extract<SummaryPart, { kind: 'table' }>;
interface Held {
  table: Table;
  rows: SummaryRow[];
}

/** Fits tables to their content: no columns without a value, and each column as wide as its values need. */
export async function* fittedTables(parts: AsyncIterable<SummaryPart>): AsyncGenerator<SummaryPart> {
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
  const shown = table.columns.map((_, index) => index === 0 || rows.some((row) => hasValue(row, index)));
  return {
    table: { ...table, columns: table.columns.filter((_, index) => shown[index]) },
    rows: rows.map((row) =>
      row.kind === 'group' ? row : { kind: 'row', cells: row.cells.filter((_, index) => shown[index]) },
    ),
  };
}

const hasValue = (row: SummaryRow, index: number): boolean =>
  row.kind === 'row' && row.cells[index]?.text !== NOTHING;

function withWidths({ table, rows }: Held): Table {
  const widths = columnWidths(table.columns, rows);
  return {
    ...table,
    columns: table.columns.map((column, index) => ({ ...column, width: widths[index] ?? 0 })),
  };
}
