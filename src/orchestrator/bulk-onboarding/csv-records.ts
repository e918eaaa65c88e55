import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import { checkCsv } from '../../shared/bulk-csv/check-csv.ts';
import { parseRecords } from '../../shared/bulk-csv/records.ts';
import type { FileStore } from './file-store.ts';

/** A file is not a CSV. Quotes nothing of it. */
export class UnreadableCsvError extends Error {
  override readonly name = 'UnreadableCsvError';
}

/**
 * The records of a stored CSV in bounded memory, the header first; lines of blanks are left out, as E5 does not count
 * them. What has the form that E5 asks for is read by its own rules, several times as fast as anything else.
 */
export async function* csvRecords(files: FileStore, ref: string): AsyncGenerator<string[]> {
  const check = await checkCsv(await files.get(ref));
  if (check.kind === 'refused') {
    yield* anyRecords(await files.get(ref));
    return;
  }
  yield check.layout.columns;
  for (const { byteStart, byteEnd } of check.chunks)
    yield* parseRecords(await files.getRange(ref, byteStart, byteEnd));
}

async function* anyRecords(content: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    skip_empty_lines: true,
    relax_column_count: true,
  });
  // What breaks `content` ends the parser with the same error, which is then thrown below.
  pipeline(content, parser, () => undefined);
  try {
    for await (const record of parser) {
      const cells = record as string[];
      if (cells.length > 1 || !/^[ \t]*$/.test(cells[0] ?? '')) yield cells;
    }
  } catch (error) {
    // The parser's own words quote the row.
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_'))
      throw new UnreadableCsvError('The CSV cannot be read');
    throw error;
  }
}
