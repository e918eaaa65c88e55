import { pipeline } from 'node:stream';
import { parse } from 'csv-parse';
import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import type { FileStore } from '../files/file-store.ts';
import { CsvFile } from './csv-file.ts';
import { createResultReader, type ResultReader } from './result-row.ts';

/** The result of a bulk create is not a CSV. */
export class UnreadableResultError extends Error {
  override readonly name = 'UnreadableResultError';
}

export interface TakeResultOptions {
  /** Called often while work goes on. */
  onProgress?: () => void;
  signal?: AbortSignal;
}

/**
 * Keeps a result CSV as it comes, and makes two files of it: patient ids by external id, and the rows to correct.
 * Bounded memory; when it fails it leaves no file behind. Throws UnreadableResultError, and what `content` or the store
 * throw.
 */
export async function takeResult(
  files: FileStore,
  content: AsyncIterable<Uint8Array>,
  options: TakeResultOptions = {},
): Promise<BulkResult> {
  // First all of it, then the reading: the link and the connection are held no longer than need be.
  const result = await files.put('result', content, 'text/csv');
  try {
    return { ...(await sorted(files, result, options)), result };
  } catch (error) {
    await files.delete(result.ref);
    throw error;
  }
}

async function sorted(
  files: FileStore,
  result: FileRef,
  { onProgress, signal }: TakeResultOptions,
): Promise<Omit<BulkResult, 'result'>> {
  const patients = new CsvFile(files, ['externalId', 'patientId', 'status']);
  const counts = { rows: 0, created: 0, updated: 0, failed: 0 };
  let reader: ResultReader | undefined;
  let corrections: CsvFile | undefined;
  try {
    for await (const cells of recordsOf(await files.get(result.ref))) {
      if (reader === undefined) {
        reader = createResultReader(cells);
        corrections = new CsvFile(files, reader.correctionColumns);
        continue;
      }
      const row = reader.read(cells);
      counts.rows += 1;
      counts[row.outcome] += 1;
      if (row.outcome === 'failed') await corrections?.add(row.correction);
      else if (row.patientId !== undefined) await patients.add([row.externalId, row.patientId, row.status]);
      if (counts.rows % 500 === 0) {
        onProgress?.();
        signal?.throwIfAborted();
      }
    }
    if (reader === undefined) throw new UnreadableResultError('The result CSV is empty');
    return { counts, patients: await patients.close(), corrections: await corrections?.close() };
  } catch (error) {
    const reason = new Error('The result could not be read');
    await Promise.all([patients.abandon(reason), corrections?.abandon(reason)]);
    throw error;
  }
}

async function* recordsOf(content: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    skip_empty_lines: true,
    relax_column_count: true,
  });
  // What breaks `content` ends the parser with the same error, which is then thrown below.
  pipeline(content, parser, () => undefined);
  try {
    for await (const record of parser) yield record as string[];
  } catch (error) {
    // The parser's own words quote the row.
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('CSV_'))
      throw new UnreadableResultError('The result CSV cannot be read');
    throw error;
  }
}
