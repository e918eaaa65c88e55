import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import { createCorrections, isSameRow } from './corrections.ts';
import { CsvFile } from './csv-file.ts';
import { csvRecords, UnreadableCsvError } from './csv-records.ts';
import type { FileStore } from './file-store.ts';
import { createResultReader } from './result-row.ts';

export interface TakeResultOptions {
  /** Called regularly while rows are being read. */
  onProgress?: () => void;
  signal?: AbortSignal;
}

/**
 * Stores a result CSV unchanged and derives two files from it: the patient ids by external id, and the rows to correct as
 * they were in the `sent` file. Uses bounded memory; leaves no files behind when it fails. Throws UnreadableCsvError, and
 * whatever `content` or the store throws.
 */
export async function takeResult(
  files: FileStore,
  content: AsyncIterable<Uint8Array>,
  sent: FileRef,
  options: TakeResultOptions = {},
): Promise<BulkResult> {
  // Store the whole file before reading it, so that the connection is closed as soon as possible.
  const result = await files.put('result', content, 'text/csv');
  try {
    return { ...(await sorted(files, result, sent, options)), result };
  } catch (error) {
    await files.delete(result.ref);
    throw error;
  }
}

async function sorted(
  files: FileStore,
  result: FileRef,
  sent: FileRef,
  { onProgress, signal }: TakeResultOptions,
): Promise<Omit<BulkResult, 'result'>> {
  const rows = csvRecords(files, result.ref);
  const originals = csvRecords(files, sent.ref);
  const reader = createResultReader(await headerOf(rows));
  const corrections = createCorrections(reader.inputColumns);
  const isOurLayout = isSameRow(reader.inputColumns, await headerOf(originals));

  const patients = new CsvFile(files, ['externalId', 'patientId', 'status']);
  const toCorrect = new CsvFile(files, corrections.columns);
  const counts = { rows: 0, created: 0, updated: 0, failed: 0 };
  try {
    for await (const cells of rows) {
      const row = reader.read(cells);
      const original = isOurLayout ? (await originals.next()).value : undefined;
      counts.rows += 1;
      counts[row.outcome] += 1;
      if (row.outcome === 'failed') await toCorrect.add(corrections.rowOf(row, original ?? undefined));
      else if (row.patientId !== undefined) await patients.add([row.externalId, row.patientId, row.status]);
      if (counts.rows % 500 === 0) {
        onProgress?.();
        signal?.throwIfAborted();
      }
    }
    return { counts, patients: await patients.close(), corrections: await toCorrect.close() };
  } catch (error) {
    const reason = new Error('The result could not be read');
    await Promise.all([patients.abandon(reason), toCorrect.abandon(reason)]);
    throw error;
  } finally {
    await originals.return(undefined);
  }
}

async function headerOf(records: AsyncGenerator<string[]>): Promise<string[]> {
  const first = await records.next();
  if (first.done === true) throw new UnreadableCsvError('The CSV is empty');
  return first.value;
}
