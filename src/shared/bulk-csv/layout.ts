export type RecordDelimiter = '\r\n' | '\n' | '\r';

/** How an uploaded file is written, as the format check found it; plain data, kept with the request. */
export interface CsvLayout {
  /** The first one of the file; the result is written with it. Reading takes any of the three. */
  recordDelimiter: RecordDelimiter;
  /** The file begins with a UTF-8 byte order mark. */
  bom: boolean;
  /** The header's cells as they stand in the file. */
  columns: string[];
}

/** A run of records that is handled as one: `[byteStart, byteEnd)` of the file holds exactly these rows. */
export interface CsvChunk {
  byteStart: number;
  byteEnd: number;
  /** Number of its first row in the file; rows count from 1, empty lines do not count. */
  firstRow: number;
  rows: number;
}

export type CsvCheck =
  | { kind: 'ok'; layout: CsvLayout; rows: number; chunks: CsvChunk[] }
  /** One sentence for the caller: which column or row, what is right. Quotes no cell of a row. */
  | { kind: 'refused'; reason: string };

/** interface.md, E5: patients in one file. */
export const MAX_BULK_ROWS = 100_000;
export const DEFAULT_CHUNK_ROWS = 2_000;
