/*
 * Splits what a directory is delivered as into its resources, while it arrives:
 * a Bundle, a list, or one resource a line (NDJSON). Only one resource is held
 * at a time.
 */

/** A resource as text, or why there is none. */
export type SplitItem = { text: string } | { fault: string };

/** Larger resources are left out. */
const ITEM_BYTES_MAX = 1_000_000;
/** What surrounds the entries of a Bundle is read up to this size. */
const AROUND_BYTES_MAX = 1_000_000;
/** So much is looked at to tell lines from a Bundle. */
const HEAD_BYTES = 65_536;

const TOO_LARGE = `is larger than ${ITEM_BYTES_MAX / 1_000_000} MB`;

export interface Splitter {
  push(chunk: Uint8Array): SplitItem[];
  /** The rest, once all has arrived. */
  end(): SplitItem[];
  /** Whether it ended in the middle of something. */
  readonly isCut: boolean;
  /** The Bundle without its entries, once it has ended. */
  readonly around: string | undefined;
}

/** A splitter that finds out by itself what it is given. */
export function createSplitter(): Splitter {
  let head: Buffer | undefined = Buffer.alloc(0);
  let chosen: Splitter | undefined;

  function choose(): SplitItem[] {
    const given = head ?? Buffer.alloc(0);
    head = undefined;
    chosen = isOneALine(given) ? new LineSplitter() : new DocumentSplitter();
    return chosen.push(given);
  }

  return {
    push(chunk) {
      if (chosen !== undefined) return chosen.push(chunk);
      head = Buffer.concat([head ?? Buffer.alloc(0), chunk]);
      return head.length < HEAD_BYTES ? [] : choose();
    },
    end() {
      const first = chosen === undefined ? choose() : [];
      return [...first, ...(chosen?.end() ?? [])];
    },
    get isCut() {
      return chosen?.isCut ?? false;
    },
    get around() {
      return chosen?.around;
    },
  };
}

/**
 * Whether each line is a resource: by the first line, or if that is broken, by
 * another one of the beginning.
 */
function isOneALine(head: Buffer): boolean {
  const lines = withoutMark(head.toString('utf8')).trimStart().split('\n');
  const [first = ''] = lines;
  if (first.startsWith('[') || IS_BUNDLE.test(first)) return false;
  if (/^\{.*\}\s*$/.test(first)) return true;
  // What is indented is part of something. The last line may be cut.
  return lines.slice(1, -1).some(isResource);
}

const IS_BUNDLE = /"resourceType"\s*:\s*"Bundle"/;

function isResource(line: string): boolean {
  return line.startsWith('{') && isJson(line) && /"resourceType"/.test(line);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Without a byte order mark. */
const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');

/** Bytes that were collected, up to a limit. */
class Collected {
  #parts: Uint8Array[] = [];
  #bytes = 0;
  readonly #bytesMax: number;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(part: Uint8Array): void {
    this.#bytes += part.length;
    if (this.isTooLarge) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  get isTooLarge(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether a Bundle begins here. */
  get isBundle(): boolean {
    const head = Buffer.concat(this.#parts).subarray(0, LINE_HEAD_BYTES);
    return IS_BUNDLE.test(head.toString('latin1').split('"entry"', 1)[0] ?? '');
  }

  /** What was collected; begins anew. */
  take(): string {
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    return text;
  }

  /** The last bytes, as text. */
  tail(bytes: number): string {
    const last = this.#parts.slice(-3).map((part) => part.subarray(-bytes));
    return Buffer.concat(last).toString('latin1');
  }
}

/** So much of a line is looked at to tell a Bundle from a resource. */
const LINE_HEAD_BYTES = 4_096;

class LineSplitter implements Splitter {
  readonly around = undefined;
  readonly #line = new Collected(ITEM_BYTES_MAX);
  /** The line is a Bundle, which has resources of its own. */
  #bundle: DocumentSplitter | undefined;
  #isBegun = false;
  isCut = false;

  push(chunk: Uint8Array): SplitItem[] {
    const items: SplitItem[] = [];
    let from = 0;
    for (
      let end = chunk.indexOf(NEWLINE);
      end !== -1;
      end = chunk.indexOf(NEWLINE, from)
    ) {
      items.push(...this.#add(chunk.subarray(from, end)), ...this.#endLine());
      from = end + 1;
    }
    // The chunk may be used again by whoever gave it.
    items.push(...this.#add(Buffer.from(chunk.subarray(from))));
    return items;
  }

  end(): SplitItem[] {
    const items = this.#endLine();
    this.isCut ||= items.some((item) => 'text' in item && !isJson(item.text));
    return items;
  }

  #add(part: Uint8Array): SplitItem[] {
    if (this.#bundle !== undefined) return this.#bundle.push(part);
    this.#line.add(part);
    if (this.#isBegun || this.#line.bytes < LINE_HEAD_BYTES) return [];
    this.#isBegun = true;
    return this.#line.isBundle ? this.#openBundle() : [];
  }

  #openBundle(): SplitItem[] {
    this.#bundle = new DocumentSplitter();
    return this.#bundle.push(Buffer.from(this.#line.take()));
  }

  #endLine(): SplitItem[] {
    if (this.#bundle === undefined && !this.#line.isBundle)
      return this.#endResource();
    const opened = this.#bundle === undefined ? this.#openBundle() : [];
    const items = [...opened, ...(this.#bundle?.end() ?? [])];
    this.isCut = this.#bundle?.isCut ?? false;
    this.#bundle = undefined;
    this.#isBegun = false;
    return items;
  }

  #endResource(): SplitItem[] {
    const { isTooLarge } = this.#line;
    const text = withoutMark(this.#line.take()).trim();
    this.isCut = false;
    this.#isBegun = false;
    if (isTooLarge) return [{ fault: TOO_LARGE }];
    return text === '' ? [] : [{ text }];
  }
}

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const COMMA = 0x2c;

/** The key of a Bundle's entries stands right before their list. */
const ENTRY_KEY = /"entry"\s*:\s*$/;

/**
 * Splits one JSON value after another by counting brackets, so that a broken
 * resource spoils only itself as long as its brackets match.
 */
class DocumentSplitter implements Splitter {
  around: string | undefined;
  #depth = 0;
  #inString = false;
  #isEscaped = false;
  /** The depth at which the items of the open list begin. */
  #itemsAt: number | undefined;
  #region: 'around' | 'between' | 'item' = 'around';
  /** Something between two items that is no resource. */
  #hasStray = false;
  readonly #around = new Collected(AROUND_BYTES_MAX);
  readonly #item = new Collected(ITEM_BYTES_MAX);
  #hadItems = false;

  get isCut(): boolean {
    return this.#depth > 0 || this.#inString;
  }

  push(given: Uint8Array): SplitItem[] {
    // A copy: whoever gave the chunk may use it again.
    const chunk = Buffer.from(given);
    const items: SplitItem[] = [];
    let from = 0;

    for (let at = 0; at < chunk.length; at += 1) {
      if (this.#inString) this.#readInString(chunk[at] ?? 0);
      else from = this.#readOutside(chunk, { from, at }, items);
    }

    this.#collect(chunk.subarray(from));
    return items;
  }

  /** @returns where what is still to be collected begins */
  #readOutside(
    chunk: Buffer,
    { from, at }: { from: number; at: number },
    items: SplitItem[],
  ): number {
    const byte = chunk[at] ?? 0;
    switch (byte) {
      case OPENING_BRACE:
      case OPENING_BRACKET:
        return this.#open(chunk, { from, at, byte });
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        return this.#close(chunk, { from, at }, items);
      case COMMA:
        if (this.#depth === this.#itemsAt) this.#endStray(items);
        return from;
      default:
        if (byte === QUOTE) this.#inString = true;
        if (byte > 0x20) this.#noteStray();
        return from;
    }
  }

  end(): SplitItem[] {
    const items: SplitItem[] = [];
    if (this.#region === 'item')
      items.push({ fault: 'ends in the middle of a resource' });
    else if (this.#region === 'around') {
      const rest = this.#around.take().trim();
      if (!this.#hadItems && withoutMark(rest) !== '')
        items.push({ fault: 'is no JSON' });
    }
    return items;
  }

  #readInString(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === BACKSLASH) this.#isEscaped = true;
    else if (byte === QUOTE) this.#inString = false;
  }

  /** @returns where what is still to be collected begins */
  #open(
    chunk: Buffer,
    { from, at, byte }: { from: number; at: number; byte: number },
  ): number {
    let begin = from;
    if (byte === OPENING_BRACKET && this.#opensList(chunk.subarray(from, at))) {
      this.#around.add(chunk.subarray(from, at + 1));
      this.#itemsAt = this.#depth + 1;
      this.#region = 'between';
      this.#hadItems = true;
      begin = at + 1;
    } else if (this.#region === 'between') {
      if (byte === OPENING_BRACE && this.#depth === this.#itemsAt) {
        this.#region = 'item';
        begin = at;
      } else this.#noteStray();
    }
    this.#depth += 1;
    return begin;
  }

  #opensList(before: Buffer): boolean {
    if (this.#itemsAt !== undefined) return false;
    if (this.#depth === 0) return true;
    const tail =
      this.#around.tail(40) + before.subarray(-40).toString('latin1');
    return this.#depth === 1 && ENTRY_KEY.test(tail);
  }

  #close(
    chunk: Buffer,
    { from, at }: { from: number; at: number },
    items: SplitItem[],
  ): number {
    this.#depth = Math.max(0, this.#depth - 1);
    if (this.#region === 'item' && this.#depth === this.#itemsAt) {
      this.#item.add(chunk.subarray(from, at + 1));
      items.push(this.#takeItem());
      this.#region = 'between';
      return at + 1;
    }
    if (this.#region === 'between' && this.#depth + 1 === this.#itemsAt) {
      this.#endStray(items);
      this.#itemsAt = undefined;
      this.#region = 'around';
      if (this.#depth > 0) return at;
      this.around = this.#around.take();
      return at + 1;
    }
    if (this.#region === 'around' && this.#depth === 0) {
      this.#around.add(chunk.subarray(from, at + 1));
      this.#endValue(items);
      return at + 1;
    }
    return from;
  }

  /** A whole value: a Bundle whose entries were taken, or a resource. */
  #endValue(items: SplitItem[]): void {
    const { isTooLarge } = this.#around;
    const text = withoutMark(this.#around.take()).trim();
    if (this.#hadItems) this.around = text;
    else items.push(isTooLarge ? { fault: TOO_LARGE } : { text });
    this.#hadItems = false;
  }

  #takeItem(): SplitItem {
    const { isTooLarge } = this.#item;
    const text = this.#item.take();
    return isTooLarge ? { fault: TOO_LARGE } : { text };
  }

  #collect(rest: Buffer): void {
    if (this.#region === 'item') this.#item.add(rest);
    else if (this.#region === 'around') this.#around.add(rest);
  }

  #noteStray(): void {
    if (this.#region === 'between') this.#hasStray = true;
  }

  #endStray(items: SplitItem[]): void {
    if (this.#hasStray) items.push({ fault: 'is no resource' });
    this.#hasStray = false;
  }
}
