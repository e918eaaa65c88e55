/**
 * The content is not valid CSV. After the format check, this is a bug, or the
 * bytes do not contain whole records.
 */
export class BrokenRecordError extends Error {
  override readonly name = 'BrokenRecordError';
}

/**
 * Parses the records of a chunk found by the format check, each to its cells;
 * skips blank lines. Follows the same rules as the scanner (RFC 4180). Throws
 * BrokenRecordError for content that the format check would refuse.
 */
export function parseRecords(bytes: Uint8Array): string[][] {
  const text = new TextDecoder('utf-8', {
    fatal: true,
    ignoreBOM: true,
  }).decode(bytes);
  if (text.includes('"')) return parseQuoted(text);
  return text
    .split(text.includes('\r') ? /\r\n|\n|\r/ : '\n')
    .filter((line) => !isBlank(line))
    .map((line) => line.split(','));
}

const isBlank = (line: string): boolean => /^[ \t]*$/.test(line);

const LINE_END = /[\r\n]/g;

/**
 * Splits lines without quotation marks at once, and reads the others cell by
 * cell.
 */
function parseQuoted(text: string): string[][] {
  const records: string[][] = [];
  let place = 0;
  while (place < text.length) {
    LINE_END.lastIndex = place;
    const lineEnd = LINE_END.exec(text)?.index ?? text.length;
    const line = text.slice(place, lineEnd);
    if (!line.includes('"')) {
      if (!isBlank(line)) records.push(line.split(','));
      // The LF of a CRLF then reads as a blank line.
      place = lineEnd + 1;
      continue;
    }
    const record: string[] = [];
    place = readRecord(text, place, record) + 1;
    records.push(record);
  }
  return records;
}

/**
 * Adds the cells of the record that begins at `start`. Returns the index of its
 * line ending.
 */
function readRecord(text: string, start: number, cells: string[]): number {
  let place = start;
  for (;;) {
    let cellEnd: number;
    if (text[place] === '"') {
      cellEnd = closingQuote(text, place + 1);
      cells.push(text.slice(place + 1, cellEnd).replaceAll('""', '"'));
      cellEnd += 1;
    } else {
      cellEnd = place;
      while (cellEnd < text.length && !isCellEnd(text.charCodeAt(cellEnd)))
        cellEnd += 1;
      const cell = text.slice(place, cellEnd);
      if (cell.includes('"'))
        throw new BrokenRecordError(
          'a quotation mark inside a cell that is not quoted',
        );
      cells.push(cell);
    }
    if (cellEnd === text.length) return cellEnd;
    if (!isCellEnd(text.charCodeAt(cellEnd)))
      throw new BrokenRecordError('text after a closing quotation mark');
    if (text[cellEnd] !== ',') return cellEnd;
    place = cellEnd + 1;
  }
}

const isCellEnd = (code: number): boolean =>
  code === 0x2c || code === 0x0a || code === 0x0d;

/**
 * Returns the index of the quotation mark that ends a cell; a doubled one is
 * part of the text.
 */
function closingQuote(text: string, from: number): number {
  for (let place = from; ; place += 2) {
    place = text.indexOf('"', place);
    if (place === -1)
      throw new BrokenRecordError('a quotation mark that is never closed');
    if (text[place + 1] !== '"') return place;
  }
}
