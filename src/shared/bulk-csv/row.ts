import type { PatientDemographics } from '../../contract/patients.ts';

/** A valid row: the patient as in an E4 body, with facility and cohorts. */
export interface BulkRow {
  patient: PatientDemographics;
  /** In lower case; undefined means the request's facility. */
  facilityId?: string;
  /** In lower case, without duplicates. */
  cohorts: string[];
}

export interface RowError {
  /**
   * The name in the file's header, or the usual name if the file lacks the
   * column. Empty for an error of the whole row.
   */
  column: string;
  /** Describes the rule; may quote the cell. */
  message: string;
}

/**
 * A facility or cohort id in a cell; only the exchange can check whether it
 * exists.
 */
export interface CellId {
  column: string;
  id: string;
}

export interface ReadRow {
  /** Present if the row has no errors. */
  value?: BulkRow;
  /** All errors of the row, in the order of the rules. */
  errors: RowError[];
  /** Well-formed ids, even if the row has errors. */
  facility?: CellId;
  cohorts: CellId[];
}

export type RowReader = (cells: readonly string[]) => ReadRow;

/** The `reason` of a failed row in the result CSV. */
export const rowReason = (errors: readonly RowError[]): string =>
  errors
    .map(({ column, message }) =>
      column === '' ? message : `${column}: ${message}`,
    )
    .join('; ');
