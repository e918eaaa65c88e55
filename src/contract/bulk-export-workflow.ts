/**
 * Input of the workflow `bulkExport`. It carries ids only; everything else is
 * read from PostgreSQL.
 */
export interface BulkExportInput {
  accountId: string;
  exportId: string;
}

export const BULK_EXPORT_MESSAGES = {
  /** Query: `BulkExportProgress`. */
  status: 'status',
  /** Signal: stop before the next step. */
  pause: 'pause',
  /**
   * Signal: continue. Also sent when the export was cancelled, so that a paused
   * workflow ends.
   */
  resume: 'resume',
} as const;

/** State of an export after a step. `gone`: its row no longer exists. */
export interface BulkExportProgress {
  state: 'running' | 'completed' | 'failed' | 'cancelled' | 'gone';
  /** Number of patients; undefined until they are listed. */
  patients?: number;
  /** Patients whose records are written. */
  done: number;
  resources: number;
}

/** Result of the query `status`. */
export interface BulkExportStatus extends BulkExportProgress {
  isPaused: boolean;
}

/** Why an export failed; shown to the caller. */
export const BULK_EXPORT_END_REASONS = {
  byOperator: 'An operator cancelled the export; start a new one',
  workflowGone: 'The workflow was terminated; start a new export',
  ourFault: 'The exchange could not write the files; start a new export',
} as const;
