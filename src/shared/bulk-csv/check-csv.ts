import { columnOf, comparableHeader, MAX_INDEX, usualName } from './columns.ts';
import { CsvFormatError, createCsvScanner } from './csv-scanner.ts';
import {
  type CsvCheck,
  type CsvChunk,
  DEFAULT_CHUNK_ROWS,
  MAX_BULK_ROWS,
  RESULT_COLUMNS,
} from './layout.ts';
import { parseRecords } from './records.ts';

export interface CheckCsvOptions {
  /** Rows per chunk. Default DEFAULT_CHUNK_ROWS. */
  chunkRows?: number;
  /** Default MAX_BULK_ROWS. */
  maxRows?: number;
}

/** A chunk also ends at this size, so that its memory is bounded. */
const MAX_CHUNK_BYTES = 4 * 1024 * 1024;

class RefusedError extends Error {}

/**
 * Makes the first pass over a file: checks encoding, quoting, header and number
 * of rows, and finds its chunks. Does not validate rows. Uses bounded memory.
 * Throws only errors of `content`.
 */
export async function checkCsv(
  content: AsyncIterable<Uint8Array>,
  options: CheckCsvOptions = {},
): Promise<CsvCheck> {
  const { maxRows = MAX_BULK_ROWS } = options;
  const index = createChunkIndex(options.chunkRows ?? DEFAULT_CHUNK_ROWS);
  let rows = 0;
  let columns: string[] | undefined;
  /** The first bytes of the file, until its header is complete. */
  let head: Uint8Array = Buffer.alloc(0);

  const takeHeader = (start: number, end: number): string[] => {
    const [cells = []] = parseRecords(head.subarray(start, end));
    const problem = headerProblem(cells);
    if (problem !== undefined) throw new RefusedError(problem);
    head = Buffer.alloc(0);
    return cells;
  };
  const takeRecord = (start: number, end: number): void => {
    if (columns === undefined) {
      columns = takeHeader(start, end);
      return;
    }
    rows += 1;
    if (rows > maxRows)
      throw new RefusedError(
        `the file has more than ${maxRows.toLocaleString('en-US')} rows: split it`,
      );
    index.add(rows, start, end);
  };

  try {
    let scanner: ReturnType<typeof createCsvScanner> | undefined;
    let bom = false;
    let sizeBytes = 0;
    for await (const block of startingWhole(content)) {
      if (columns === undefined) head = Buffer.concat([head, block]);
      if (scanner === undefined) {
        bom = startOf(block) === 'bom';
        scanner = createCsvScanner(takeRecord, bom ? 3 : 0);
        scanner.push(bom ? block.subarray(3) : block);
      } else {
        scanner.push(block);
      }
      sizeBytes += block.length;
    }
    scanner?.end();
    if (scanner === undefined || columns === undefined)
      return {
        kind: 'refused',
        reason: 'the file is empty: its first line must name the columns',
      };
    const layout = { recordDelimiter: scanner.recordDelimiter(), bom, columns };
    return { kind: 'ok', layout, rows, chunks: index.close(sizeBytes) };
  } catch (error) {
    if (error instanceof RefusedError || error instanceof CsvFormatError)
      return { kind: 'refused', reason: error.message };
    throw error;
  }
}

function createChunkIndex(chunkRows: number) {
  const chunks: CsvChunk[] = [];
  return {
    add(row: number, start: number, end: number): void {
      const last = chunks.at(-1);
      if (
        last !== undefined &&
        last.rows < chunkRows &&
        end - last.byteStart <= MAX_CHUNK_BYTES
      ) {
        last.rows += 1;
        return;
      }
      if (last !== undefined) last.byteEnd = start;
      chunks.push({ byteStart: start, byteEnd: end, firstRow: row, rows: 1 });
    },
    close(sizeBytes: number): CsvChunk[] {
      const last = chunks.at(-1);
      if (last !== undefined) last.byteEnd = sizeBytes;
      return chunks;
    },
  };
}

const START_BYTES = 4;

/**
 * Passes the blocks on, but makes sure that the first one has at least four
 * bytes, if the file has them.
 */
async function* startingWhole(
  content: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let start: Uint8Array | undefined = new Uint8Array();
  for await (const block of content) {
    if (start === undefined) {
      yield block;
      continue;
    }
    start = Buffer.concat([start, block]);
    if (start.length < START_BYTES) continue;
    yield start;
    start = undefined;
  }
  if (start !== undefined && start.length > 0) yield start;
}

/** Checks the first bytes. Throws RefusedError for UTF-16 and zip archives. */
function startOf(bytes: Uint8Array): 'bom' | 'text' {
  const begins = (...expected: number[]) =>
    expected.every((byte, place) => bytes[place] === byte);
  if (begins(0xef, 0xbb, 0xbf)) return 'bom';
  if (begins(0xff, 0xfe) || begins(0xfe, 0xff))
    throw new RefusedError('the file is UTF-16: save it as CSV UTF-8');
  if (begins(0x50, 0x4b, 0x03, 0x04))
    throw new RefusedError(
      'the file is a workbook or a zip archive: export it as CSV UTF-8',
    );
  return 'text';
}

const REQUIRED = (
  [
    'firstName',
    'lastName',
    'dob',
    'gender',
    'addressLine1',
    'city',
    'state',
    'zip',
  ] as const
).map((field) => usualName(field));
/**
 * A result CSV may be corrected and uploaded again, so a file may contain its
 * columns, even several times.
 */
const OF_RESULT = new Set(RESULT_COLUMNS.map(comparableHeader));

/** What a first line has at most, and what is said of its problems at most. */
const COLUMNS_MAX = 1_000;
const PROBLEMS_MAX = 20;
const NAME_SHOWN = 60;

/**
 * Describes the problems of a header for the caller; returns undefined for a
 * valid one. Quotes only names of known columns, because in a file without a
 * header, the first line contains personal data.
 */
export function headerProblem(cells: readonly string[]): string | undefined {
  if (cells.length > COLUMNS_MAX)
    return `the first line has ${cells.length} columns; at most ${COLUMNS_MAX} are read`;
  const problems: string[] = [];
  const positions = new Map<string, number>();
  for (const [position, cell] of cells.entries()) {
    const column = columnOf(cell);
    if (column.kind === 'bad-number') {
      problems.push(
        column.takesNumbers
          ? `column "${clipped(cell)}": a number from 1 to ${MAX_INDEX} is expected after the hyphen`
          : `column "${clipped(cell)}": this column takes no number`,
      );
      continue;
    }
    const isKnown = column.kind !== 'unknown';
    const name = isKnown
      ? usualName(column.field, column.kind === 'indexed' ? column.index : 1)
      : comparableHeader(cell);
    if (!isKnown && (name === '' || OF_RESULT.has(name))) continue;
    const first = positions.get(isKnown ? name : `unknown ${name}`);
    if (first === undefined)
      positions.set(isKnown ? name : `unknown ${name}`, position);
    else
      problems.push(
        isKnown
          ? `columns ${first + 1} and ${position + 1} are both ${name}`
          : `columns ${first + 1} and ${position + 1} have the same name`,
      );
  }
  const missing = REQUIRED.filter((name) => !positions.has(name));
  if (missing.length > 0) problems.push(describeMissing(missing, cells));
  if (problems.length === 0) return undefined;
  const rest = problems.length - PROBLEMS_MAX;
  const more = rest > 0 ? [`and ${rest} more`] : [];
  return [...problems.slice(0, PROBLEMS_MAX), ...more].join('; ');
}

const clipped = (cell: string): string => cell.trim().slice(0, NAME_SHOWN);

function describeMissing(
  missing: readonly string[],
  cells: readonly string[],
): string {
  const sentence = `the first line lacks the required column${missing.length > 1 ? 's' : ''} ${missing.join(', ')}`;
  const [only = ''] = cells;
  if (cells.length === 1 && /[;\t|]/.test(only))
    return `${sentence}; columns are separated by commas`;
  const hyphenated = cells.find(
    (cell) =>
      columnOf(cell).kind === 'unknown' &&
      columnOf(cell.replaceAll('-', '')).kind === 'single',
  );
  return hyphenated === undefined
    ? sentence
    : `${sentence}; write "${clipped(hyphenated)}" without the hyphen`;
}
