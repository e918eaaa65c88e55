import { open, rm } from 'node:fs/promises';
import { stringify } from 'csv-stringify/sync';
import type { WrongRow } from '../input/panel-file.ts';

export interface RowErrors {
  /** Rows that break a rule. */
  rows: number;
  /** The first of them. */
  first: WrongRow[];
  /** Where all of them are listed; undefined when there is none. */
  path?: string;
}

const LINES_AT_ONCE = 500;

/**
 * Lists every error of every row in a CSV (`row,column,error`), in bounded memory; it takes the place of the list of an
 * earlier look, which is removed when there is no error any more.
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

/** A message may quote a cell. */
const csv = (lines: string[][]): string =>
  stringify(lines, { escape_formulas: true, record_delimiter: '\r\n' });
