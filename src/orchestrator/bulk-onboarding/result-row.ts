/** What one row of a result CSV says. */
export interface ResultRow {
  outcome: 'created' | 'updated' | 'failed';
  externalId: string;
  /** Absent for a row that failed and in a dry run. */
  patientId?: string;
  /** As the exchange named it. */
  status: string;
  reason: string;
  /** The cells of the input's columns, as the exchange gave them back. */
  input: string[];
}

export interface ResultReader {
  /** The input's columns. */
  inputColumns: string[];
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
  const at = (name: string) => names.lastIndexOf(name);
  const appended = new Set(APPENDED.map(at));
  const idColumn = at('patientid') >= 0 ? at('patientid') : at('metriportid');
  const externalIdColumn = names.findIndex((name) => name === 'externalid' || name === 'id');
  const input = names.flatMap((_, index) => (appended.has(index) ? [] : [index]));

  return {
    inputColumns: input.map((index) => header[index] ?? ''),
    read(cells) {
      const cell = (index: number): string => (index < 0 ? '' : (cells[index] ?? ''));
      const status = cell(at('status')).trim();
      const patientId = cell(idColumn).trim();
      return {
        outcome: outcomeOf(status, patientId, at('status') >= 0),
        externalId: cell(externalIdColumn),
        patientId: patientId === '' ? undefined : patientId,
        status,
        reason: cell(at('reason')),
        input: input.map(cell),
      };
    },
  };
}

function outcomeOf(status: string, patientId: string, hasStatus: boolean): ResultRow['outcome'] {
  if (FAILED.test(status) || (!hasStatus && patientId === '')) return 'failed';
  return UPDATED.test(status) ? 'updated' : 'created';
}

/** As headers are compared: case, blanks and punctuation other than the hyphen do not count. */
export const normalised = (column: string): string => column.replaceAll(/[^\p{L}\p{N}-]/gu, '').toLowerCase();
