/** How a cell begins that a spreadsheet would run as a formula (OWASP, CSV Injection), also in full-width letters. */
const FORMULA = /^[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/;
const APOSTROPHE = 0x27;

/** With an apostrophe before it where a spreadsheet would run the cell. */
export const escapeFormula = (cell: string): string => (FORMULA.test(cell) ? `'${cell}` : cell);

/** Takes back `escapeFormula`. */
export const unescapeFormula = (cell: string): string =>
  cell.charCodeAt(0) === APOSTROPHE && FORMULA.test(cell.slice(1)) ? cell.slice(1) : cell;
