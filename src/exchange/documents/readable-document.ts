/** A clinical document as a person reads it: what html and pdf are both made of. Plain text only, no markup. */
export interface ReadableDocument {
  title: string;
  /** Whom it is about, for the head of each page. */
  patient: string;
  birthDate: string;
  /** What its header says, in the order it is shown. */
  facts: Fact[];
  sections: Section[];
}

export interface Fact {
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
  | { kind: 'table'; head: Cell[][]; rows: Cell[][] };

/** Text in one style; a line break is `\n`. */
export interface Run {
  text: string;
  style?: 'bold' | 'italic' | 'underline';
}

export interface Cell {
  /** A list or table within a cell is lines of it. */
  runs: Run[];
  isHeading: boolean;
  columns: number;
  rows: number;
}

export const plainText = (runs: readonly Run[]): string => runs.map(({ text }) => text).join('');
