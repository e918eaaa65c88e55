import { normalised, type ResultRow } from './result-row.ts';

/**
 * Makes the rows to correct: as they were sent where that is known, for a result has the columns of the header only (a
 * row with a comma too many is cut there) and its formulas are escaped; then the reason.
 */
export interface Corrections {
  columns: string[];
  /** @param sent the same row of the file that was sent, if there is one */
  rowOf(row: ResultRow, sent: readonly string[] | undefined): string[];
}

/** @param inputColumns as the result has them. The reasons of an earlier round would stand next to the new ones. */
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

/** Another service may leave rows out, or put them into another order. */
export const isSameRow = (result: readonly string[], sent: readonly string[]): boolean =>
  result.every((cell, index) => {
    const original = sent[index] ?? '';
    return cell === original || cell === `'${original}`;
  });
