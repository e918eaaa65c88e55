import { normalised, type ResultRow } from './result-row.ts';

/**
 * Builds the rows of the corrections CSV: the row as it was sent, followed by the reason. Rows of the sent file are
 * preferred to those of the result, because the result escapes formulas and drops cells beyond the header's columns.
 */
export interface Corrections {
  columns: string[];
  /** @param sent the same row of the sent file, if it could be found */
  rowOf(row: ResultRow, sent: readonly string[] | undefined): string[];
}

/** @param inputColumns as in the result. A `reason` column of an earlier round is dropped in favour of the new one. */
export function createCorrections(inputColumns: readonly string[]): Corrections {
  const kept = inputColumns.flatMap((name, index) => (normalised(name) === 'reason' ? [] : [index]));
  return {
    columns: [...kept.map((index) => inputColumns[index] ?? ''), 'reason'],
    rowOf(row, sent) {
      const cells = sent !== undefined && isSameRow(row.input, sent) ? sent : row.input;
      const surplus = cells.slice(inputColumns.length);
      return [...kept.map((index) => cells[index] ?? ''), ...surplus, row.reason];
    },
  };
}

/** Compares a result row with a sent row, because another service may omit rows or reorder them. */
export const isSameRow = (result: readonly string[], sent: readonly string[]): boolean =>
  result.every((cell, index) => {
    const original = sent[index] ?? '';
    return cell === original || cell === `'${original}`;
  });
