import { NOTHING, type SummaryPart, type SummaryRow } from './parts.ts';

/** Rows that are kept to find columns without values; a longer table keeps all its columns. */
const KEPT_MAX = 1_000;

type Table = Extract<SummaryPart, { kind: 'table' }>;
interface Held {
  table: Table;
  rows: SummaryRow[];
}

/** Removes the columns of tables that have no value in any row, so that the others have more room on a page. */
export async function* withoutEmptyColumns(parts: AsyncIterable<SummaryPart>): AsyncGenerator<SummaryPart> {
  let held: Held | undefined;
  for await (const part of parts) {
    if (part.kind === 'table') held = { table: part, rows: [] };
    else if (held === undefined) yield part;
    else if (part.kind === 'row' || part.kind === 'group') {
      if (held.rows.push(part) < KEPT_MAX) continue;
      yield held.table;
      yield* held.rows;
      held = undefined;
    } else {
      yield* filledColumns(held);
      yield part;
      held = undefined;
    }
  }
}

function* filledColumns({ table, rows }: Held): Generator<SummaryPart> {
  // The first column names the row.
  const shown = table.columns.map((_, index) => index === 0 || rows.some((row) => hasValue(row, index)));
  yield { ...table, columns: table.columns.filter((_, index) => shown[index]) };
  for (const row of rows)
    yield row.kind === 'group' ? row : { kind: 'row', cells: row.cells.filter((_, index) => shown[index]) };
}

const hasValue = (row: SummaryRow, index: number): boolean =>
  row.kind === 'row' && row.cells[index]?.text !== NOTHING;
