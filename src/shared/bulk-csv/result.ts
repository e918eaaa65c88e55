/** What the result CSV has after the input's columns. `metriportId` repeats `patientId` for existing readers. */
export const RESULT_COLUMNS = ['patientId', 'metriportId', 'status', 'reason'] as const;

export const ROW_STATUSES = ['created', 'updated', 'failed', 'would-create', 'would-update'] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];
