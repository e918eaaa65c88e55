import { open, rm } from 'node:fs/promises';
import { stringify } from 'csv-stringify/sync';
import type { WrongRow } from '../input/panel-file.ts';

export interface RowErrors {
  /** Number of invalid rows. */
  rows: number;
  /** The first of them. */
  first: WrongRow[];
  /** The file that lists all of them; undefined when there are none. */
  path?: string;
}

const LINES_AT_ONCE = 500;

/**
 * Writes all errors of all rows into a CSV (`row,column,error`), in bounded memory. It replaces the list of an earlier
 * check, which is removed when there are no errors.
 */
export async function listRowErrors(
  path: string,
  wrong: AsyncIterable<WrongRow>,
  shownMax: number,
): Promise<RowErrors> {
  await rm(path, { force: true });
  const errors: RowErrors = { rows: 0, first: [] };
  let lines: string[][] = [['row', 'column', 'error']];
  let file: Awaited<ReturnType<typeof open>> | undefined;
  try {
    for await (const row of wrong) {
      errors.rows += 1;
      if (errors.first.length < shownMax) errors.first.push(row);
      for (const { column, message } of row.errors) lines.push([String(row.row), column, message]);
      if (lines.length < LINES_AT_ONCE) continue;
      file ??= await open(path, 'wx', 0o600);
      await file.appendFile(csv(lines));
      lines = [];
    }
    if (errors.rows === 0) return errors;
    file ??= await open(path, 'wx', 0o600);
    await file.appendFile(csv(lines));
    return { ...errors, path };
  } finally {
    await file?.close();
  }
}

/** Formulas are escaped, because a message may quote a cell. */
const csv = (lines: string[][]): string =>
  stringify(lines, { escape_formulas: true, record_delimiter: '\r\n' });
