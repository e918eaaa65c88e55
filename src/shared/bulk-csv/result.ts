/** The columns that the result CSV appends to the input's. `metriportId` repeats `patientId` for existing clients. */
export const RESULT_COLUMNS = ['patientId', 'metriportId', 'status', 'reason'] as const;

export const ROW_STATUSES = ['created', 'updated', 'failed', 'would-create', 'would-update'] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];
