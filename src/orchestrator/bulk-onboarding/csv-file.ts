import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { stringify } from 'csv-stringify/sync';
import type { FileRef } from '../../contract/bulk-onboarding.ts';
import type { FileStore } from './file-store.ts';

/** How many rows are formatted at once; one at a time is several times slower. */
const ROWS_AT_ONCE = 500;

/**
 * Writes a CSV row by row to the store, in bounded memory. The file is created with the first row. Cells that a
 * spreadsheet would execute as formulas are escaped.
 */
export class CsvFile {
  readonly #files: FileStore;
  readonly #columns: readonly string[];
  #rows: (readonly string[])[] = [];
  #open: { stream: PassThrough; stored: Promise<FileRef> } | undefined;

  constructor(files: FileStore, columns: readonly string[]) {
    this.#files = files;
    this.#columns = columns;
  }

  /** Rejects when the store fails. */
  async add(row: readonly string[]): Promise<void> {
    this.#rows.push(row);
    if (this.#rows.length >= ROWS_AT_ONCE) await this.#flush();
  }

  /** Resolves with the stored file, or with undefined when there were no rows. */
  async close(): Promise<FileRef | undefined> {
    if (this.#rows.length > 0) await this.#flush();
    this.#open?.stream.end();
    return this.#open?.stored;
  }

  /** Stops writing and deletes the file. */
  async abandon(reason: Error): Promise<void> {
    this.#open?.stream.destroy(reason);
    const stored = await this.#open?.stored.catch(() => undefined);
    if (stored !== undefined) await this.#files.delete(stored.ref);
  }

  async #flush(): Promise<void> {
    if (this.#open === undefined) {
      const stream = new PassThrough();
      // If the store fails before reading, the stream has no error listener, and `abandon` would crash the process.
      stream.on('error', () => undefined);
      const stored = this.#files.put('result', stream, 'text/csv');
      // Awaited in close(); until then a rejection must not count as unhandled.
      stored.catch(() => undefined);
      this.#open = { stream, stored };
      this.#rows.unshift(this.#columns);
    }
    const { stream, stored } = this.#open;
    const text = stringify(
      this.#rows.map((row) => [...row]),
      { escape_formulas: true, record_delimiter: '\r\n' },
    );
    this.#rows = [];
    if (!stream.write(text)) await Promise.race([once(stream, 'drain'), stored]);
  }
}
