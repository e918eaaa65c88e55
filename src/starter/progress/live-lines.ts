import pc from 'picocolors';

/** The members of an output stream that are used, such as process.stdout. */
export interface LineStream {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

/**
 * Progress of several subjects, a few rows of text each. On a terminal the rows are redrawn in place; elsewhere (a file,
 * CI) each changed row is printed with its subject in front. Rows may be coloured. They should contain nothing that
 * changes by itself, such as elapsed seconds.
 */
export class LiveLines {
  readonly colors: ReturnType<typeof pc.createColors>;
  readonly #stream: LineStream;
  readonly #subjects = new Map<string, readonly string[]>();
  /** Number of lines in the block above the cursor. */
  #drawn = 0;

  constructor(stream: LineStream) {
    this.#stream = stream;
    this.colors = pc.createColors(stream.isTTY === true && pc.isColorSupported);
  }

  /** Whether rows are redrawn in place; otherwise each change adds a line. */
  get redraws(): boolean {
    return this.#stream.isTTY === true;
  }

  /** Shows the current rows of a subject. */
  set(subject: string, rows: readonly string[]): void {
    const before = this.#subjects.get(subject);
    this.#subjects.set(subject, rows);
    if (this.#stream.isTTY === true) {
      this.#redraw();
      return;
    }
    for (const [index, row] of rows.entries())
      if (row !== before?.[index]) this.#stream.write(`${subject}: ${row.trim()}\n`);
  }

  /** Prints a permanent line above the rows that are redrawn. */
  print(line: string): void {
    this.#replace([]);
    this.#stream.write(`${line}\n`);
    this.#redraw();
  }

  /** Makes a subject's rows permanent; other rows are drawn below them. */
  finish(subject: string): void {
    const rows = this.#subjects.get(subject);
    this.#subjects.delete(subject);
    if (rows === undefined || this.#stream.isTTY !== true) return;
    this.#replace(this.#block(subject, rows));
    this.#drawn = 0;
    this.#redraw();
  }

  /** Makes all rows permanent; further output goes below them. */
  close(): void {
    for (const subject of [...this.#subjects.keys()]) this.finish(subject);
  }

  #redraw(): void {
    if (this.#stream.isTTY !== true) return;
    const all = [...this.#subjects].flatMap(([subject, rows]) => this.#block(subject, rows));
    // Lines that have scrolled off the screen cannot be redrawn.
    const visible = Math.max(3, (this.#stream.rows ?? 24) - 2);
    const lines =
      all.length <= visible
        ? all
        : [...all.slice(0, visible), this.colors.dim(`… and ${all.length - visible} more lines`)];
    this.#replace(lines);
  }

  #block(subject: string, rows: readonly string[]): string[] {
    const [first = '', ...others] = rows;
    return [`${this.colors.bold(subject)}  ${first}`, ...others.map((row) => `  ${row}`)];
  }

  /** Replaces the block drawn last. One write, so that the screen does not flicker. */
  #replace(lines: readonly string[]): void {
    const back = this.#drawn > 0 ? `${ESCAPE}[${this.#drawn}A${ESCAPE}[0J` : '';
    const columns = (this.#stream.columns ?? 80) - 1;
    const text = lines.map((line) => `${fitted(line, columns)}\n`).join('');
    if (back !== '' || text !== '') this.#stream.write(`${back}${text}`);
    this.#drawn = lines.length;
  }
}

const ESCAPE = String.fromCharCode(27);
const COLOR = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);

/** Cuts a line to a visible width, because a wrapped line could not be redrawn. Colour codes stay complete. */
export function fitted(line: string, columns: number): string {
  let room = columns;
  return line
    .split(COLOR)
    .map((part) => {
      if (COLOR.test(part)) return part;
      const characters = [...part];
      const kept =
        characters.length > room ? (room > 0 ? [...characters.slice(0, room - 1), '…'] : []) : characters;
      room -= Math.min(room, characters.length);
      return kept.join('');
    })
    .join('');
}
