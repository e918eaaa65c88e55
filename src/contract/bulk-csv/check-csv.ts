import type { CsvCheck } from './layout.ts';

export interface CheckCsvOptions {
  /** Rows of a chunk; default DEFAULT_CHUNK_ROWS. */
  chunkRows?: number;
  /** Default MAX_BULK_ROWS. */
  maxRows?: number;
}

/**
 * The first pass over a file: encoding, quoting, header, number of rows, and where its chunks begin. Judges no row.
 * Bounded memory. Fails only when `content` does.
 */
export function checkCsv(
  _content: AsyncIterable<Uint8Array>,
  _options: CheckCsvOptions = {},
): Promise<CsvCheck> {
  throw new Error('not built yet');
}
