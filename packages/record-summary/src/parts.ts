/**
 * A medical record summary as a stream of parts, in reading order; renderers
 * turn it into html or pdf. The rows of a table come between `table` and
 * `tableEnd`, and sections do not nest, so a renderer needs to hold only one
 * row.
 */
export type SummaryPart = { kind: 'head'; head: SummaryHead } | SummaryBodyPart;

/**
 * A note: `stated`: a statement by a source; `alert`: the reader must not miss
 * it.
 */
export interface SummaryNote {
  text: string;
  tone?: 'stated' | 'alert';
  /** Resources that state it. */
  of?: OverviewItem['of'];
}

/** The parts after the head. */
export type SummaryBodyPart =
  /** Comes at most once, before the sections. */
  | { kind: 'overview'; blocks: readonly OverviewBlock[] }
  | { kind: 'section'; id: string; title: string }
  | ({ kind: 'note' } & SummaryNote)
  /** Before the tables of a section. */
  | { kind: 'charts'; charts: readonly Chart[] }
  | { kind: 'table'; caption: string; columns: readonly Column[] }
  | SummaryRow
  /** `rows`: the number of rows. */
  | { kind: 'tableEnd'; rows: number };

export type SummaryRow =
  /** A heading for the following rows of the table. */
  | { kind: 'group'; title: string }
  | { kind: 'row'; cells: readonly SummaryCell[] };

/** What the head of a page says of a person's life. */
export interface Life {
  /** `5 Apr 1951`, or `unknown`. */
  born: string;
  /** `75 years`, for a person who is not known to have died. */
  age?: string;
  /** `12 Mar 2017, aged 65 years`, or `on an unknown day`. */
  died?: string;
}

export interface HeadFact {
  label: string;
  value: string;
  /** The reader must not miss it. */
  tone?: 'alert';
}

export interface SummaryHead {
  title: string;
  patient: Life & { name: string };
  /** In order. */
  facts: readonly HeadFact[];
  /** Why the record is incomplete. */
  alert?: string;
  /** Remarks for the reader, one sentence each. */
  notes: readonly string[];
  /** The sections that follow, for the table of contents. */
  sections: readonly { id: string; title: string }[];
}

/**
 * A part of the overview: what matters of one section (or of two), in few
 * lines.
 */
export interface OverviewBlock {
  title: string;
  items: readonly OverviewItem[];
  notes: readonly SummaryNote[];
  /**
   * What was delivered and is not among the items, counted, with the section
   * that has it.
   */
  rest?: { text: string; section: string };
}

export interface OverviewItem {
  text: string;
  /** When, how, by whom. */
  detail: string;
  /** `alert`: abnormal; the text or detail must say so too. */
  tone?: 'alert';
  /** Resources that it was made of, at most five. */
  of: readonly { resourceType: string; id: string }[];
}

export interface Column {
  title: string;
  /**
   * Its share of the sum of all columns, 1 by default; `fittedTables` computes
   * it from the content.
   */
  width?: number;
  isNumeric?: boolean;
}

export interface SummaryCell {
  text: string;
  /** `alert`: abnormal; the text must say so too. */
  tone?: 'alert' | 'muted';
}

/** Shown where the source gives no value. */
export const NOTHING = '–';

export const row = (
  ...cells: (string | undefined | SummaryCell)[]
): SummaryRow => ({
  kind: 'row',
  cells: cells.map((cell) =>
    typeof cell === 'object' ? cell : { text: cell || NOTHING },
  ),
});

/**
 * A chart, drawn; each renderer only puts its shapes on paper. The table of the
 * same section has every value.
 */
export interface Chart {
  /** What was measured, and its unit. */
  title: string;
  /** The last value and the period. */
  detail: string;
  /** What the drawing shows, for readers who cannot see it. */
  description: string;
  drawing: Drawing;
}

/** Shapes in a box of `WIDTH` by `HEIGHT` units, y pointing down. */
export interface Drawing {
  width: number;
  height: number;
  shapes: readonly Shape[];
}

export type Shape =
  /** The reference range. */
  | { kind: 'band'; x: number; y: number; width: number; height: number }
  | { kind: 'grid' | 'line' | 'second'; points: readonly PdfPoint[] }
  /** A value: a diamond if it is abnormal. */
  | { kind: 'dot' | 'ring' | 'diamond'; at: PdfPoint; text: string }
  | { kind: 'label'; at: PdfPoint; text: string; align: 'start' | 'end' };

export type PdfPoint = readonly [x: number, y: number];
