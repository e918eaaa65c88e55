import { columnOf, MAX_INDEX, plainName, usualName } from './columns.ts';
import { RESULT_COLUMNS } from './result.ts';

const REQUIRED = [
  usualName('firstName'),
  usualName('lastName'),
  usualName('dob'),
  usualName('gender'),
  usualName('addressLine1'),
  usualName('city'),
  usualName('state'),
  usualName('zip'),
];
/** A result CSV may be corrected and uploaded again, so a file may contain its columns, even several times. */
const OF_RESULT = new Set(RESULT_COLUMNS.map(plainName));

/**
 * Describes the problems of a header for the caller; returns undefined for a valid one. Quotes only names of known columns,
 * because in a file without a header, the first line contains personal data.
 */
export function headerProblem(cells: readonly string[]): string | undefined {
  const problems: string[] = [];
  const positions = new Map<string, number>();
  for (const [position, cell] of cells.entries()) {
    const column = columnOf(cell);
    if (column.kind === 'bad-number') {
      problems.push(
        column.takesNumbers
          ? `column "${cell.trim()}": a number from 1 to ${MAX_INDEX} is expected after the hyphen`
          : `column "${cell.trim()}": this column takes no number`,
      );
      continue;
    }
    const isKnown = column.kind !== 'unknown';
    const name = isKnown
      ? usualName(column.field, column.kind === 'indexed' ? column.index : 1)
      : plainName(cell);
    if (!isKnown && (name === '' || OF_RESULT.has(name))) continue;
    const first = positions.get(isKnown ? name : `unknown ${name}`);
    if (first === undefined) positions.set(isKnown ? name : `unknown ${name}`, position);
    else
      problems.push(
        isKnown
          ? `columns ${first + 1} and ${position + 1} are both ${name}`
          : `columns ${first + 1} and ${position + 1} have the same name`,
      );
  }
  const missing = REQUIRED.filter((name) => !positions.has(name));
  if (missing.length > 0) problems.push(describeMissing(missing, cells));
  return problems.length === 0 ? undefined : problems.join('; ');
}

function describeMissing(missing: readonly string[], cells: readonly string[]): string {
  const sentence = `the first line lacks the required column${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`;
  const [only = ''] = cells;
  if (cells.length === 1 && /[;\t|]/.test(only)) return `${sentence}; columns are separated by commas`;
  const hyphenated = cells.find(
    (cell) => columnOf(cell).kind === 'unknown' && columnOf(cell.replaceAll('-', '')).kind === 'single',
  );
  return hyphenated === undefined ? sentence : `${sentence}; write "${hyphenated.trim()}" without the hyphen`;
}
