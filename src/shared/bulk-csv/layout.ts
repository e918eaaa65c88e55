export type RecordDelimiter = '\r\n' | '\n' | '\r';

/**
 * The format of an uploaded file, as the format check found it. Plain data,
 * stored with the request.
 */
export interface CsvLayout {
  /**
   * The file's first line ending; the result is written with it. All three are
   * accepted when reading.
   */
  recordDelimiter: RecordDelimiter;
  /** The file begins with a UTF-8 byte order mark. */
  bom: boolean;
  /** The cells of the header, unchanged. */
  columns: string[];
}

/**
 * A range of records that is processed together: the bytes `[byteStart,
 * byteEnd)` contain exactly these rows.
 */
export interface CsvChunk {
  byteStart: number;
  byteEnd: number;
  /**
   * The number of its first row; rows are counted from 1, without blank lines.
   */
  firstRow: number;
  rows: number;
}

export type CsvCheck =
  | { kind: 'ok'; layout: CsvLayout; rows: number; chunks: CsvChunk[] }
  /**
   * One sentence for the caller: which column or row is wrong, and what is
   * expected. Quotes no cell of a row.
   */
  | { kind: 'refused'; reason: string };

/** Maximum number of patients in one file (docs/interface.md, E5). */
export const MAX_BULK_ROWS = 100_000;
export const DEFAULT_CHUNK_ROWS = 2_000;

/**
 * The columns that the result CSV appends to the input's. `metriportId` repeats
 * `patientId` for existing clients.
 */
export const RESULT_COLUMNS = [
  'patientId',
  'metriportId',
  'status',
  'reason',
] as const;

const ROW_STATUSES = [
  'created',
  'updated',
  'failed',
  'would-create',
  'would-update',
] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];

/**
 * Matches cells that a spreadsheet would execute as a formula (OWASP, CSV
 * Injection), including full-width characters.
 */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;
const APOSTROPHE = 0x27;

/** Puts an apostrophe before a cell that a spreadsheet would execute. */
export const escapeFormula = (cell: string): string =>
  FORMULA.test(cell) ? `'${cell}` : cell;

/** Reverses `escapeFormula`. */
export const unescapeFormula = (cell: string): string =>
  cell.charCodeAt(0) === APOSTROPHE && FORMULA.test(cell.slice(1))
    ? cell.slice(1)
    : cell;
