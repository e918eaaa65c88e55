import type { RecordDelimiter } from './layout.ts';

const LF = 0x0a;
const CR = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BLANK = 0x20;
const TAB = 0x09;

/**
 * A longer record probably has an unclosed quotation mark. The limit also
 * bounds the memory of a chunk.
 */
export const MAX_RECORD_BYTES = 1024 * 1024;

/**
 * The file is not valid CSV. The message is for the caller and quotes nothing
 * of the file.
 */
export class CsvFormatError extends Error {
  override readonly name = 'CsvFormatError';
  /** `record`: rows count from 1, the header is 0. */
  constructor(record: number, what: string) {
    super(`${record === 0 ? 'the first line' : `row ${record}`} ${what}`);
  }
}

const NOT_UTF8 = 'is not UTF-8: save the file as CSV UTF-8';

/** Only blanks so far in this line. */
const LINE_START = 0;
const CELL_START = 1;
const PLAIN = 2;
const QUOTED = 3;
/**
 * After a quotation mark inside a quoted cell: the cell's end, or the first of
 * a doubled mark.
 */
const CLOSED = 4;

/**
 * Finds the records of a CSV file (RFC 4180; CRLF, LF and CR all end a record)
 * by scanning bytes, which is several times faster than parsing. Blank lines
 * are not records. Checks quoting, UTF-8 and NUL bytes. Calls `onRecord` with
 * the byte range `[start, end)` of each record, without its line ending.
 * `firstByte` is the offset of the first byte pushed.
 */
export function createCsvScanner(
  onRecord: (start: number, end: number) => void,
  firstByte = 0,
) {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  /** The bytes so far end in the middle of a character, or may do so. */
  let isCharacterOpen = false;
  let state = LINE_START;
  let offset = firstByte;
  let recordStart = firstByte;
  let records = 0;
  let firstLineEnd: RecordDelimiter | undefined;
  let isCrOpen = false;

  return {
    /** Throws CsvFormatError at the first invalid byte. */
    push(bytes: Uint8Array): void {
      for (let index = 0; index < bytes.length; index += 1) {
        const byte = bytes[index] as number;
        if (byte >= 0x80 || isCharacterOpen) {
          const end = endOfNonAscii(bytes, index);
          decode(bytes.subarray(index, end + 1));
          isCharacterOpen = end === bytes.length;
          if (end > index) {
            isCrOpen = false;
            if (state === LINE_START || state === CELL_START) state = PLAIN;
            else if (state === CLOSED) throw textAfterQuote();
            index = end - 1;
            continue;
          }
        }
        // Most bytes are ordinary content of a cell, so skip them quickly.
        if (byte > COMMA && (state === PLAIN || state === QUOTED)) {
          index = endOfOrdinary(bytes, index + 1) - 1;
          continue;
        }
        if (byte === 0)
          throw new CsvFormatError(
            records,
            'holds a NUL byte: save the file as CSV UTF-8',
          );
        if (isCrOpen) {
          isCrOpen = false;
          firstLineEnd = byte === LF ? '\r\n' : '\r';
        }
        if (state === QUOTED) {
          if (byte === QUOTE) state = CLOSED;
        } else if (byte === LF || byte === CR) {
          if (firstLineEnd === undefined) {
            firstLineEnd = byte === LF ? '\n' : '\r';
            isCrOpen = byte === CR;
          }
          if (state !== LINE_START) endRecord(offset + index);
          state = LINE_START;
          recordStart = offset + index + 1;
        } else if (byte === QUOTE) {
          if (
            state === CLOSED ||
            state === CELL_START ||
            offset + index === recordStart
          )
            state = QUOTED;
          else
            throw new CsvFormatError(
              records,
              'has a quotation mark inside a cell that is not quoted',
            );
        } else if (byte === COMMA) {
          state = CELL_START;
        } else if (state === CLOSED) {
          throw textAfterQuote();
        } else if (state !== LINE_START || (byte !== BLANK && byte !== TAB)) {
          state = PLAIN;
        }
      }
      offset += bytes.length;
      if (offset - recordStart > MAX_RECORD_BYTES) throw tooLong();
    },
    /** Call it at the end of the file. Throws like `push`. */
    end(): void {
      decode();
      if (state === QUOTED)
        throw new CsvFormatError(
          records,
          'opens a quotation mark that is never closed',
        );
      if (state !== LINE_START) endRecord(offset);
      state = LINE_START;
    },
    /** The first line ending of the file; LF if there was none yet. */
    recordDelimiter: (): RecordDelimiter => firstLineEnd ?? '\n',
  };

  /**
   * Reads what is not ASCII, with the byte after it; nothing: the end of the
   * file.
   */
  function decode(bytes?: Uint8Array): void {
    try {
      utf8.decode(bytes, { stream: bytes !== undefined });
    } catch {
      const what =
        bytes === undefined ? 'ends within a UTF-8 character' : NOT_UTF8;
      throw new CsvFormatError(records, what);
    }
  }

  function endRecord(end: number): void {
    if (end - recordStart > MAX_RECORD_BYTES) throw tooLong();
    onRecord(recordStart, end);
    records += 1;
  }

  function tooLong(): CsvFormatError {
    return new CsvFormatError(
      records,
      'is longer than 1 MiB: is a quotation mark not closed?',
    );
  }

  function textAfterQuote(): CsvFormatError {
    return new CsvFormatError(
      records,
      'has text after the closing quotation mark of a cell',
    );
  }
}

/**
 * Returns the first index from `start` of a byte that is not ordinary content:
 * a comma or below, or a non-ASCII byte.
 */
function endOfOrdinary(bytes: Uint8Array, start: number): number {
  let place = start;
  while (place < bytes.length) {
    const byte = bytes[place] as number;
    if (byte <= COMMA || byte >= 0x80) break;
    place += 1;
  }
  return place;
}

function endOfNonAscii(bytes: Uint8Array, start: number): number {
  let place = start;
  while (place < bytes.length && (bytes[place] as number) >= 0x80) place += 1;
  return place;
}
