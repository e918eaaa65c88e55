/** What one row of a result CSV says. */
export interface ResultRow {
  outcome: 'created' | 'updated' | 'failed';
  externalId: string;
  /** Absent for a row that failed and in a dry run. */
  patientId?: string;
  /** As the exchange named it. */
  status: string;
  /** The row as it was sent, with the reason at its end. */
  correction: string[];
}

export interface ResultReader {
  /** Header of a file of rows to correct: the input's columns, then `reason`. */
  correctionColumns: string[];
  read(cells: readonly string[]): ResultRow;
}

/** What the exchange puts after the input's columns; another service has some of them. */
const APPENDED = ['patientid', 'metriportid', 'status', 'reason'];
const FAILED = /^(failed|error|invalid)$/i;
const UPDATED = /^(updated|would-update)$/i;

/**
 * Reads the rows of a result CSV by its header. interface.md does not show its layout: here the last columns called
 * `patientId` (or `metriportId`), `status` and `reason` are the exchange's, for the input may have had such columns of
 * its own; where there is no status, a row without a patient id has failed.
 */
export function createResultReader(header: readonly string[]): ResultReader {
  const names = header.map(normalised);
  const appended = new Set(APPENDED.map((name) => names.lastIndexOf(name)));
  const at = (name: string) => names.lastIndexOf(name);
  const idColumn = at('patientid') >= 0 ? at('patientid') : at('metriportid');
  const externalIdColumn = names.findIndex((name) => name === 'externalid' || name === 'id');
  // The reasons of an earlier round would stand next to the new ones.
  const inputColumns = names.flatMap((name, index) =>
    appended.has(index) || name === 'reason' ? [] : [index],
  );

  return {
    correctionColumns: [...inputColumns.map((index) => header[index] ?? ''), 'reason'],
    read(cells) {
      const cell = (index: number): string => (index < 0 ? '' : (cells[index] ?? ''));
      const status = cell(at('status')).trim();
      const patientId = cell(idColumn).trim();
      return {
        outcome: outcomeOf(status, patientId, at('status') >= 0),
        externalId: cell(externalIdColumn),
        patientId: patientId === '' ? undefined : patientId,
        status,
        correction: [...inputColumns.map(cell), cell(at('reason'))],
      };
    },
  };
}

function outcomeOf(status: string, patientId: string, hasStatus: boolean): ResultRow['outcome'] {
  if (FAILED.test(status) || (!hasStatus && patientId === '')) return 'failed';
  return UPDATED.test(status) ? 'updated' : 'created';
}

/** As headers are compared: case, blanks and punctuation other than the hyphen do not count. */
const normalised = (column: string): string =>
  column
    .replace(/^\uFEFF/, '')
    .replaceAll(/[^\p{L}\p{N}-]/gu, '')
    .toLowerCase();
