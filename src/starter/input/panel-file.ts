import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { checkCsv } from '../../shared/bulk-csv/check-csv.ts';
import type { CsvChunk, CsvLayout } from '../../shared/bulk-csv/layout.ts';
import { parseRecords } from '../../shared/bulk-csv/records.ts';
import type { RowError } from '../../shared/bulk-csv/row.ts';
import { createRowReader } from '../../shared/bulk-csv/row-reader.ts';
import { fileReason, UsageError } from '../errors.ts';

/** A CSV of patients whose format is valid; its rows have not been checked. */
export interface PanelFile {
  path: string;
  layout: CsvLayout;
  rows: number;
  chunks: readonly CsvChunk[];
}

/** An invalid row; rows count from 1. */
export interface WrongRow {
  row: number;
  errors: readonly RowError[];
}

/**
 * Checks the format of a whole file by the rules of the exchange
 * (docs/interface.md, "Bulk CSV"), in bounded memory. Throws UsageError with a
 * one-line message when the file cannot be read or is not in the expected
 * format.
 */
export async function checkPanel(path: string): Promise<PanelFile> {
  const check = await checkCsv(createReadStream(path)).catch(
    throwUnreadable(path),
  );
  if (check.kind === 'refused')
    throw new UsageError(
      `${path} is not in the expected format: ${check.reason}. Nothing was sent.`,
    );
  const { layout, rows, chunks } = check;
  if (rows === 0)
    throw new UsageError(`${path} has a header but no rows. Nothing was sent.`);
  return { path, layout, rows, chunks };
}

/**
 * The invalid rows in order. Unknown cohorts and facilities are not among them:
 * only the exchange can detect those.
 */
export async function* wrongRows({
  path,
  layout,
  chunks,
}: PanelFile): AsyncGenerator<WrongRow> {
  const read = createRowReader(layout);
  const file = await open(path);
  try {
    for (const chunk of chunks) {
      const records = parseRecords(await bytesOf(file, chunk));
      for (const [index, cells] of records.entries()) {
        const { errors } = read(cells);
        if (errors.length > 0) yield { row: chunk.firstRow + index, errors };
      }
    }
  } finally {
    await file.close();
  }
}

async function bytesOf(
  file: FileHandle,
  { byteStart, byteEnd }: CsvChunk,
): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteEnd - byteStart);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, byteStart);
  if (bytesRead < bytes.length)
    throw new Error(
      'The file changed while it was being checked. Run the command again.',
    );
  return bytes;
}

/**
 * Reads a file that the user named. Throws UsageError, with the reason in
 * words.
 */
export const readInputFile = (path: string): Promise<Buffer> =>
  readFile(path).catch(throwUnreadable(path));

/** For `catch`: throws UsageError for a file that cannot be read. */
const throwUnreadable =
  (path: string) =>
  (error: NodeJS.ErrnoException): never => {
    throw new UsageError(`Cannot read ${path}: ${fileReason(error)}.`);
  };
