/** One row of a result CSV. */
export interface ResultRow {
  outcome: 'created' | 'updated' | 'failed';
  externalId: string;
  /** Absent for failed rows and in a dry run. */
  patientId?: string;
  /** The exchange's own name for the outcome. */
  status: string;
  reason: string;
  /** The cells of the input's columns, as the exchange returned them. */
  input: string[];
}

export interface ResultReader {
  /** The input's columns. */
  inputColumns: string[];
  read(cells: readonly string[]): ResultRow;
}

/** The columns that the exchange appends to the input's columns; other services may append only some of them. */
const APPENDED = ['patientid', 'metriportid', 'status', 'reason'];
const FAILED = /^(failed|error|invalid)$/i;
const UPDATED = /^(updated|would-update)$/i;

/**
 * Creates a reader for the rows of a result CSV from its header. docs/interface.md ("Bulk CSV") does not define the layout
 * for other services. The last columns named `patientId` (or `metriportId`), `status` and `reason` are taken as the
 * exchange's, because the input may have columns with these names too. Without a status column, a row without a patient id
 * has failed.
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

/** Normalises a column name for comparison: ignores case, blanks and all punctuation except hyphens. */
export const normalised = (column: string): string => column.replaceAll(/[^\p{L}\p{N}-]/gu, '').toLowerCase();
