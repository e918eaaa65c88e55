import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { BulkResult, FileRef } from '../../contract/bulk-onboarding.ts';
import { csvRecords, UnreadableCsvError } from './csv-records.ts';
import type { FileStore } from './file-store.ts';

export interface TakeResultOptions {
  /** Called regularly while rows are being read. */
  onProgress?: () => void;
  signal?: AbortSignal;
}

/**
 * Stores a result CSV unchanged and derives two files from it: the patient ids
 * by external id, and the rows to correct as they were in the `sent` file. Uses
 * bounded memory; leaves no files behind when it fails. Throws
 * UnreadableCsvError, and whatever `content` or the store throws.
 */
export async function takeResult(
  files: FileStore,
  content: AsyncIterable<Uint8Array>,
  sent: FileRef,
  options: TakeResultOptions = {},
): Promise<BulkResult> {
  // Store the whole file before reading it, so that the connection is closed as
  // soon as possible.
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
      if (row.outcome === 'failed')
        await toCorrect.add(corrections.rowOf(row, original ?? undefined));
      else if (row.patientId !== undefined)
        await patients.add([row.externalId, row.patientId, row.status]);
      if (counts.rows % 500 === 0) {
        onProgress?.();
        signal?.throwIfAborted();
      }
    }
    return {
      counts,
      patients: await patients.close(),
      corrections: await toCorrect.close(),
    };
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

/**
 * Builds the rows of the corrections CSV: the row as it was sent, followed by
 * the reason. Rows of the sent file are preferred to those of the result,
 * because the result escapes formulas and drops cells beyond the header's
 * columns.
 *
 * @param inputColumns as in the result. A `reason` column of an earlier round
 *   is dropped in favour of the new one.
 */
function createCorrections(inputColumns: readonly string[]) {
  const kept = inputColumns.flatMap((name, index) =>
    normalised(name) === 'reason' ? [] : [index],
  );
  return {
    columns: [...kept.map((index) => inputColumns[index] ?? ''), 'reason'],
    /** @param sent the same row of the sent file, if it could be found */
    rowOf(row: ResultRow, sent: readonly string[] | undefined): string[] {
      const cells =
        sent !== undefined && isSameRow(row.input, sent) ? sent : row.input;
      const surplus = cells.slice(inputColumns.length);
      return [
        ...kept.map((index) => cells[index] ?? ''),
        ...surplus,
        row.reason,
      ];
    },
  };
}

/**
 * Compares a result row with a sent row, because another service may omit rows
 * or reorder them.
 */
const isSameRow = (
  result: readonly string[],
  sent: readonly string[],
): boolean =>
  result.every((cell, index) => {
    const original = sent[index] ?? '';
    return cell === original || cell === `'${original}`;
  });

/**
 * How many rows are formatted at once; one at a time is several times slower.
 */
const ROWS_AT_ONCE = 500;

/**
 * Writes a CSV row by row to the store, in bounded memory. The file is created
 * with the first row. Cells that a spreadsheet would execute as formulas are
 * escaped.
 */
export class CsvFile {
  #rows: (readonly string[])[] = [];
  #open: { stream: PassThrough; stored: Promise<FileRef> } | undefined;
  private readonly files: FileStore;
  private readonly columns: readonly string[];

  constructor(files: FileStore, columns: readonly string[]) {
    this.files = files;
    this.columns = columns;
  }

  /** Rejects when the store fails. */
  async add(row: readonly string[]): Promise<void> {
    this.#rows.push(row);
    if (this.#rows.length >= ROWS_AT_ONCE) await this.#flush();
  }

  /**
   * Resolves with the stored file, or with undefined when there were no rows.
   */
  async close(): Promise<FileRef | undefined> {
    if (this.#rows.length > 0) await this.#flush();
    this.#open?.stream.end();
    return this.#open?.stored;
  }

  /** Stops writing and deletes the file. */
  async abandon(reason: Error): Promise<void> {
    this.#open?.stream.destroy(reason);
    const stored = await this.#open?.stored.catch(() => undefined);
    if (stored !== undefined) await this.files.delete(stored.ref);
  }

  async #flush(): Promise<void> {
    if (this.#open === undefined) {
      const stream = new PassThrough();
      // If the store fails before reading, the stream has no error listener,
      // and `abandon` would crash the process.
      stream.on('error', () => undefined);
      const stored = this.files.put('result', stream, 'text/csv');
      // Awaited in close(); until then a rejection must not count as unhandled.
      stored.catch(() => undefined);
      this.#open = { stream, stored };
      this.#rows.unshift(this.columns);
    }
    const { stream, stored } = this.#open;
    const text = stringify(
      this.#rows.map((row) => [...row]),
      { escape_formulas: true, record_delimiter: '\r\n' },
    );
    this.#rows = [];
    if (!stream.write(text))
      await Promise.race([once(stream, 'drain'), stored]);
  }
}

/** One row of a result CSV. */
type ResultRow = ReturnType<ReturnType<typeof createResultReader>['read']>;

/**
 * The columns that the exchange appends to the input's columns; other services
 * may append only some of them.
 */
const APPENDED = ['patientid', 'metriportid', 'status', 'reason'];
const FAILED = /^(failed|error|invalid)$/i;
const UPDATED = /^(updated|would-update)$/i;

/**
 * Creates a reader for the rows of a result CSV from its header.
 * docs/interface.md ("Bulk CSV") does not define the layout for other services.
 * The last columns named `patientId` (or `metriportId`), `status` and `reason`
 * are taken as the exchange's, because the input may have columns with these
 * names too. Without a status column, a row without a patient id has failed.
 */
function createResultReader(header: readonly string[]) {
  const names = header.map(normalised);
  const at = (name: string) => names.lastIndexOf(name);
  const appended = new Set(APPENDED.map(at));
  const idColumn = at('patientid') >= 0 ? at('patientid') : at('metriportid');
  const externalIdColumn = names.findIndex(
    (name) => name === 'externalid' || name === 'id',
  );
  const input = names.flatMap((_, index) =>
    appended.has(index) ? [] : [index],
  );

  return {
    inputColumns: input.map((index) => header[index] ?? ''),
    read(cells: readonly string[]) {
      const cell = (index: number): string =>
        index < 0 ? '' : (cells[index] ?? '');
      const status = cell(at('status')).trim();
      const patientId = cell(idColumn).trim();
      return {
        outcome: rowOutcome(status, patientId, at('status') >= 0),
        externalId: cell(externalIdColumn),
        /** Absent for failed rows and in a dry run. */
        patientId: patientId === '' ? undefined : patientId,
        /** The exchange's own name for the outcome. */
        status,
        reason: cell(at('reason')),
        /** The cells of the input's columns, as the exchange returned them. */
        input: input.map(cell),
      };
    },
  };
}

function rowOutcome(
  status: string,
  patientId: string,
  hasStatus: boolean,
): 'created' | 'updated' | 'failed' {
  if (FAILED.test(status) || (!hasStatus && patientId === '')) return 'failed';
  return UPDATED.test(status) ? 'updated' : 'created';
}

/**
 * Normalises a column name for comparison: ignores case, blanks and all
 * punctuation except hyphens.
 */
const normalised = (column: string): string =>
  column.replaceAll(/[^\p{L}\p{N}-]/gu, '').toLowerCase();
