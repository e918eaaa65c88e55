import { IheError } from '../ihe-error.ts';
import { type PartHeaders, readPartHeaders } from './part-headers.ts';

/** What a splitter finds, in this order for each part. */
export type MimeEvent =
  | { kind: 'headers'; headers: PartHeaders }
  | { kind: 'bytes'; bytes: Buffer }
  /** `isComplete` is false when the message ended within the part. */
  | { kind: 'end'; isComplete: boolean };

/** A boundary has at most 70 characters; what follows it is white space. */
const BOUNDARY_LINE_BYTES_MAX = 300;
const HEADERS_BYTES_MAX = 64 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** Stands for the line end before the first byte. */
const LINE_END = Buffer.from('\n');

/**
 * Splits a multipart message (RFC 2046) into its parts, with their exact bytes,
 * as they arrive. The line end before a boundary belongs to the boundary.
 *
 * It takes what senders send: LF instead of CRLF, white space after a boundary,
 * a boundary other than the announced one, and no closing boundary.
 */
export class MimeSplitter {
  readonly #announced: string | undefined;
  #state: 'preamble' | 'headers' | 'body' | 'epilogue' = 'preamble';
  /** Line end, hyphens and boundary: what divides parts. */
  #delimiter: Buffer | undefined;
  /** Bytes not yet judged. */
  #pending: Buffer = LINE_END;
  /**
   * 1 when the first pending byte is the line end that ended what was before,
   * and may begin a delimiter: it is no content.
   */
  #skipped: 0 | 1 = 1;

  /** @param announced the boundary of the Content-Type */
  constructor(announced: string | undefined) {
    this.#announced = announced;
  }

  /** Whether the closing boundary was met. */
  get isClosed(): boolean {
    return this.#state === 'epilogue';
  }

  /**
   * @param chunk not to be changed afterwards: what is given out are parts of it
   * @throws {IheError} `mime.malformed`
   */
  *push(chunk: Uint8Array): Generator<MimeEvent> {
    if (this.#state === 'epilogue') return;
    yield* this.#giveOutBefore(chunk);
    this.#pending =
      this.#pending.length === 0
        ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length)
        : Buffer.concat([this.#pending, chunk]);
    yield* this.#read(false);
  }

  /**
   * To be called after the last chunk.
   *
   * @throws {IheError} `mime.malformed` when no part was found
   */
  *end(): Generator<MimeEvent> {
    yield* this.#read(true);
    if (this.#state === 'preamble')
      throw malformed('has no line with its boundary');
    if (this.#state === 'body') {
      yield* this.#giveOut(this.#pending.length);
      yield { kind: 'end', isComplete: false };
    }
  }

  /**
   * Gives out what is pending when no delimiter begins in it, so that it need
   * not be copied together with what follows.
   */
  *#giveOutBefore(chunk: Uint8Array): Generator<MimeEvent> {
    const delimiter = this.#delimiter;
    if (this.#state !== 'body' || delimiter === undefined) return;
    if (chunk.length < delimiter.length) return;
    const seam = Buffer.concat([
      this.#pending,
      chunk.subarray(0, delimiter.length - 1),
    ]);
    if (seam.indexOf(delimiter) < 0) yield* this.#giveOut(this.#pending.length);
  }

  *#read(isLast: boolean): Generator<MimeEvent> {
    let isAhead = true;
    while (isAhead && this.#state !== 'epilogue') {
      isAhead =
        this.#state === 'headers'
          ? yield* this.#readHeaders()
          : yield* this.#readToDelimiter(isLast);
    }
  }

  /** Returns whether the headers were whole. */
  *#readHeaders(): Generator<MimeEvent, boolean> {
    const lines: string[] = [];
    let at = 0;
    let lineEnd = this.#pending.indexOf(LINE_FEED);
    while (lineEnd >= 0) {
      const line = this.#pending.toString('utf8', at, lineEnd).trimEnd();
      if (line === '') {
        this.#pending = this.#pending.subarray(lineEnd);
        this.#skipped = 1;
        this.#state = 'body';
        yield { kind: 'headers', headers: readPartHeaders(lines) };
        return true;
      }
      lines.push(line);
      at = lineEnd + 1;
      lineEnd = this.#pending.indexOf(LINE_FEED, at);
    }
    if (this.#pending.length > HEADERS_BYTES_MAX)
      throw malformed('has a part whose headers do not end');
    return false;
  }

  /** Returns whether a delimiter was found. */
  *#readToDelimiter(isLast: boolean): Generator<MimeEvent, boolean> {
    this.#delimiter ??= this.#chooseDelimiter(isLast);
    const delimiter = this.#delimiter;
    if (delimiter === undefined) return false;

    let at = this.#pending.indexOf(delimiter);
    while (at >= 0) {
      const found = this.#judge(at + delimiter.length, isLast);
      if (found === 'undecided') break;
      if (found !== 'content') {
        yield* this.#pass(at, found);
        return true;
      }
      at = this.#pending.indexOf(delimiter, at + 1);
    }
    // Without a candidate, one may have begun in the last bytes.
    yield* this.#giveOut(
      at >= 0 ? at : Math.max(this.#pending.length - delimiter.length, 0),
    );
    return false;
  }

  /** Whether the rest of a line makes a delimiter of what stands before it. */
  #judge(at: number, isLast: boolean): Delimiter | 'content' | 'undecided' {
    const lineEnd = this.#pending.indexOf(LINE_FEED, at);
    const end = lineEnd < 0 ? this.#pending.length : lineEnd;
    if (end - at > BOUNDARY_LINE_BYTES_MAX) return 'content';
    if (lineEnd < 0 && !isLast) return 'undecided';

    const rest = this.#pending.toString('latin1', at, end);
    if (!/^(?:--)?[ \t]*\r?$/.test(rest)) return 'content';
    return {
      isClosing: rest.startsWith('--'),
      next: lineEnd < 0 ? end : end + 1,
    };
  }

  /** Ends what stands before a delimiter, and enters what follows it. */
  *#pass(at: number, { isClosing, next }: Delimiter): Generator<MimeEvent> {
    const rest = this.#pending.subarray(next);
    const isPart = this.#state === 'body';
    yield* this.#giveOut(at);
    this.#pending = rest;
    this.#state = isClosing ? 'epilogue' : 'headers';
    if (isPart) yield { kind: 'end', isComplete: true };
  }

  /**
   * Gives out the pending bytes before an index as content of the part, without
   * a carriage return directly before it, which may belong to a delimiter.
   */
  *#giveOut(before: number): Generator<MimeEvent> {
    const isAfterReturn = this.#pending[before - 1] === CARRIAGE_RETURN;
    const end = isAfterReturn ? before - 1 : before;
    if (end <= this.#skipped) return;
    const bytes = this.#pending.subarray(this.#skipped, end);
    this.#pending = this.#pending.subarray(end);
    this.#skipped = 0;
    if (this.#state === 'body') yield { kind: 'bytes', bytes };
  }

  /**
   * The boundary of the message's first line, because some announce another one
   * than they use. A message that begins with a preamble has the announced one.
   */
  #chooseDelimiter(isLast: boolean): Buffer | undefined {
    const start = this.#pending.toString('latin1', 0, BOUNDARY_LINE_BYTES_MAX);
    const [, used] = /^\s*\n--([^\r\n]*?)[ \t]*\r?\n/.exec(start) ?? [];
    const isTooEarly =
      used === undefined && start.length < BOUNDARY_LINE_BYTES_MAX && !isLast;
    if (isTooEarly) return undefined;

    const isOnlyEnd = used === `${this.#announced}--`;
    const boundary = isOnlyEnd ? this.#announced : used || this.#announced;
    if (boundary === undefined) throw malformed('has no boundary');
    return Buffer.from(`\n--${boundary}`, 'latin1');
  }
}

interface Delimiter {
  isClosing: boolean;
  /** Where what follows begins. */
  next: number;
}

const malformed = (what: string): IheError =>
  new IheError('mime.malformed', `The multipart message ${what}.`);
