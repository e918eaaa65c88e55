import type { CsvLayout } from './layout.ts';
import type { RowReader } from './row.ts';

/** Reads the rows of a file of this layout by the rules of E5 (interface-decisions.md, Bulk CSV). */
export function createRowReader(_layout: CsvLayout): RowReader {
  throw new Error('not built yet');
}
