import pc from 'picocolors';

/** What is needed of a stream; process.stdout and process.stderr are such. */
export interface LineStream {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

/**
 * Progress of several subjects, some rows of text each. On a terminal the rows are drawn again in place; elsewhere
 * (a file, CI) a row is printed when it has changed, with its subject in front. Rows may be coloured, and should hold
 * nothing that changes by itself, such as seconds that have passed.
 */
export class LiveLines {
  readonly colors: ReturnType<typeof pc.createColors>;
  readonly #stream: LineStream;
  readonly #subjects = new Map<string, readonly string[]>();
  /** Lines of the block that the cursor stands below. */
  #drawn = 0;

  constructor(stream: LineStream) {
    this.#stream = stream;
    this.colors = pc.createColors(stream.isTTY === true && pc.isColorSupported);
  }

  /** Whether rows are drawn again in place; else each change is a line that stays. */
  get redraws(): boolean {
    return this.#stream.isTTY === true;
  }

  /** The rows of a subject as they are now. */
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

  /** A line of its own that stays, above what is drawn again. */
  print(line: string): void {
    this.#replace([]);
    this.#stream.write(`${line}\n`);
    this.#redraw();
  }

  /** The subject does not change any more: its rows stay where they are, and later ones are drawn below. */
  finish(subject: string): void {
    const rows = this.#subjects.get(subject);
    this.#subjects.delete(subject);
    if (rows === undefined || this.#stream.isTTY !== true) return;
    this.#replace(this.#block(subject, rows));
    this.#drawn = 0;
    this.#redraw();
  }

  /** Leaves all rows on the screen as they are; what is written next goes below. */
  close(): void {
    for (const subject of [...this.#subjects.keys()]) this.finish(subject);
  }

  #redraw(): void {
    if (this.#stream.isTTY !== true) return;
    const all = [...this.#subjects].flatMap(([subject, rows]) => this.#block(subject, rows));
    // What scrolled off the screen cannot be drawn again.
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

  /** Puts lines where the block was drawn last; one write, so that nothing flickers. */
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

/** Cuts what is visible to a width; a line that wraps could not be drawn over. Colours stay whole. */
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
