/**
 * A medical record summary as a stream of parts, in reading order; renderers turn it into html or pdf. The rows of a table
 * come between `table` and `tableEnd`, and sections do not nest, so a renderer needs to hold only one row.
 */
export type SummaryPart = { kind: 'head'; head: SummaryHead } | SummaryBodyPart;

/** The parts after the head. */
export type SummaryBodyPart =
  | { kind: 'section'; id: string; title: string }
  /** `stated`: a statement by a source; `alert`: the reader must not miss it. */
  | { kind: 'note'; text: string; tone?: 'stated' | 'alert' }
  | { kind: 'table'; caption: string; columns: readonly Column[] }
  | SummaryRow
  /** `rows`: the number of rows. */
  | { kind: 'tableEnd'; rows: number };

export type SummaryRow =
  /** A heading for the following rows of the table. */
  { kind: 'group'; title: string } | { kind: 'row'; cells: readonly SummaryCell[] };

export interface SummaryHead {
  title: string;
  patient: { name: string; birthDate: string };
  /** Label and value, in order. */
  facts: readonly (readonly [label: string, value: string])[];
  /** Why the record is incomplete. */
  alert?: string;
  /** Remarks for the reader, one sentence each. */
  notes: readonly string[];
  /** The sections that follow, for the table of contents. */
  sections: readonly { id: string; title: string }[];
}

export interface Column {
  title: string;
  /** Relative width: its share of the sum of all columns. */
  width: number;
  isNumeric?: boolean;
}

export interface SummaryCell {
  text: string;
  /** `alert`: abnormal; the text must say so too. */
  tone?: 'alert' | 'muted';
}

/** Shown where the source gives no value. */
export const NOTHING = '–';

export const row = (...cells: (string | undefined | SummaryCell)[]): SummaryRow => ({
  kind: 'row',
  cells: cells.map((cell) => (typeof cell === 'object' ? cell : { text: cell || NOTHING })),
});
