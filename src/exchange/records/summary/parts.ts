/**
 * A medical record summary as a stream of parts, in reading order: what every renderer turns into its form. A table's
 * rows stand between `table` and `tableEnd`, sections do not nest, so a renderer holds no more than one row.
 */
export type SummaryPart = { kind: 'head'; head: SummaryHead } | SummaryBodyPart;

/** What follows the one head. */
export type SummaryBodyPart =
  | { kind: 'section'; id: string; title: string }
  /** `stated`: by a source, not by us; `alert`: what the reader must not miss. */
  | { kind: 'note'; text: string; tone?: 'stated' | 'alert' }
  | { kind: 'table'; caption: string; columns: readonly Column[] }
  | SummaryRow
  /** How many rows there were. */
  | { kind: 'tableEnd'; rows: number };

export type SummaryRow =
  /** Heads the rows that follow, within a table. */
  { kind: 'group'; title: string } | { kind: 'row'; cells: readonly Cell[] };

export interface SummaryHead {
  title: string;
  patient: { name: string; birthDate: string };
  /** Label and value, in order. */
  facts: readonly (readonly [label: string, value: string])[];
  /** Why the record is not complete. */
  alert?: string;
  /** What the reader should know of what is shown, one sentence each. */
  notes: readonly string[];
  /** What follows. */
  sections: readonly { id: string; title: string }[];
}

export interface Column {
  title: string;
  /** Share of the table's width. */
  width: number;
  isNumeric?: boolean;
}

export interface Cell {
  text: string;
  /** `alert`: outside of what is normal; the text says so too. */
  tone?: 'alert' | 'muted';
}

/** What is written where a source says nothing. */
export const NOTHING = '–';

export const row = (...cells: (string | undefined | Cell)[]): SummaryRow => ({
  kind: 'row',
  cells: cells.map((cell) => (typeof cell === 'object' ? cell : { text: cell || NOTHING })),
});
