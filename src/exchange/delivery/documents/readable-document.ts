/** The readable content of a clinical document, rendered as html or pdf. Plain text only, no markup. */
export interface ReadableDocument {
  title: string;
  /** The patient's name, for the head of each page. */
  patient: string;
  birthDate: string;
  /** The fields of the document header, in display order. */
  facts: HeaderField[];
  sections: Section[];
}

export interface HeaderField {
  label: string;
  value: string;
}

export interface Section {
  title: string;
  blocks: Block[];
  sections: Section[];
}

export type Block =
  | { kind: 'paragraph'; runs: Run[] }
  | { kind: 'list'; ordered: boolean; items: Block[][] }
  | { kind: 'table'; head: DocumentCell[][]; rows: DocumentCell[][] };

/** Text in one style; a line break is `\n`. */
export interface Run {
  text: string;
  style?: 'bold' | 'italic' | 'underline';
}

export interface DocumentCell {
  /** Lists and tables within a cell are flattened to lines. */
  runs: Run[];
  isHeading: boolean;
  columns: number;
  rows: number;
}

/** The text of runs, without their styles. */
export const runsText = (runs: readonly Run[]): string => runs.map(({ text }) => text).join('');
