import { createReadStream } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { checkCsv } from '../../shared/bulk-csv/check-csv.ts';
import type { CsvChunk, CsvLayout } from '../../shared/bulk-csv/layout.ts';
import { parseRecords } from '../../shared/bulk-csv/records.ts';
import type { RowError } from '../../shared/bulk-csv/row.ts';
import { createRowReader } from '../../shared/bulk-csv/row-reader.ts';
import { UsageError } from '../errors.ts';

/** A CSV of patients whose format is right; of its rows nothing has been judged. */
export interface PanelFile {
  path: string;
  layout: CsvLayout;
  rows: number;
  chunks: readonly CsvChunk[];
}

/** A row that breaks a rule; rows count from 1. */
export interface WrongRow {
  row: number;
  errors: readonly RowError[];
}

/**
 * Looks at a whole file by the rules that the exchange applies (E5), in bounded memory. Throws UsageError, in one
 * sentence, when there is no such file or it is not in the expected format.
 */
export async function checkPanel(path: string): Promise<PanelFile> {
  const check = await checkCsv(createReadStream(path)).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read (${error.code ?? 'unknown reason'}).`);
  });
  if (check.kind === 'refused')
    throw new UsageError(`${path} is not in the expected format: ${check.reason}. Nothing was sent.`);
  const { layout, rows, chunks } = check;
  if (rows === 0) throw new UsageError(`${path} has a header, but no row.`);
  return { path, layout, rows, chunks };
}

/** The rows that the exchange would refuse, in order. Unknown cohorts and facilities only the exchange can tell. */
export async function* wrongRows({ path, layout, chunks }: PanelFile): AsyncGenerator<WrongRow> {
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

async function bytesOf(file: FileHandle, { byteStart, byteEnd }: CsvChunk): Promise<Uint8Array> {
  const bytes = new Uint8Array(byteEnd - byteStart);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, byteStart);
  if (bytesRead < bytes.length) throw new Error('The file was changed while it was read');
  return bytes;
}
