/** The columns that the result CSV appends to the input's. `metriportId` repeats `patientId` for existing clients. */
export const RESULT_COLUMNS = ['patientId', 'metriportId', 'status', 'reason'] as const;

export const ROW_STATUSES = ['created', 'updated', 'failed', 'would-create', 'would-update'] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];

/** Matches cells that a spreadsheet would execute as a formula (OWASP, CSV Injection), including full-width characters. */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;
const APOSTROPHE = 0x27;

/** Puts an apostrophe before a cell that a spreadsheet would execute. */
export const escapeFormula = (cell: string): string => (FORMULA.test(cell) ? `'${cell}` : cell);

/** Reverses `escapeFormula`. */
export const unescapeFormula = (cell: string): string =>
  cell.charCodeAt(0) === APOSTROPHE && FORMULA.test(cell.slice(1)) ? cell.slice(1) : cell;
