import type { PatientDemographics } from '../../contract/patients.ts';

/** A valid row: what E4's body would be, and where the patient belongs. */
export interface BulkRow {
  patient: PatientDemographics;
  /** Lower case; undefined: the request's facility. */
  facilityId?: string;
  /** Lower case, each once. */
  cohorts: string[];
}

export interface RowError {
  /** As in the file's header; for a column that the file lacks, its usual name. Empty: the row as a whole. */
  column: string;
  /** Names the rule; may quote what was found. */
  message: string;
}

/** An id in a cell, for what only the exchange can judge: whether there is such a facility or cohort. */
export interface CellId {
  column: string;
  id: string;
}

export interface ReadRow {
  /** Set when there is no error. */
  value?: BulkRow;
  /** All of the row at once, in the order of the rules. */
  errors: RowError[];
  /** Well-formed ids, also of a row with errors. */
  facility?: CellId;
  cohorts: CellId[];
}

export type RowReader = (cells: readonly string[]) => ReadRow;

/** The `reason` of a failed row in the result CSV. */
export const rowReason = (errors: readonly RowError[]): string =>
  errors.map(({ column, message }) => (column === '' ? message : `${column}: ${message}`)).join('; ');
