import pc from 'picocolors';
import { terminalOutput } from './escape.ts';
import { widthOf } from './output-width.ts';
import { minuteOf } from './time.ts';

/** The members of an output stream that are used, such as process.stdout. */
export interface LineStream {
  write(text: string): unknown;
  isTTY?: boolean | undefined;
  columns?: number | undefined;
  rows?: number | undefined;
}

/**
 * Something that a subject waits for, and when that is given up at the latest.
 */
export interface Awaited {
  what: string;
  until?: Date;
}

const FRAMES = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'];
const FRAME_MS = 120;
const LINE_MS = 10_000;

/**
 * Progress of several subjects, a few rows of text each. On a terminal the rows
 * are redrawn in place; elsewhere (a file, CI) each changed row is printed with
 * its subject in front. Rows may be coloured. They should contain nothing that
 * changes by itself: as long as there is a subject, a spinner below the rows
 * shows the elapsed time and what is awaited; elsewhere a line does so every 10
 * seconds.
 */
export class LiveLines {
  readonly colors: ReturnType<typeof pc.createColors>;
  readonly #subjects = new Map<string, readonly string[]>();
  readonly #awaited = new Map<string, readonly Awaited[]>();
  /** Number of lines in the block above the cursor. */
  #drawn = 0;
  #begunAtMs = 0;
  #frame = 0;
  #ticking: NodeJS.Timeout | undefined;
  private readonly stream: LineStream;
  private readonly now: () => number;

  constructor(stream: LineStream, now: () => number = Date.now) {
    this.stream = stream;
    this.now = now;

    this.colors = pc.createColors(stream.isTTY === true && pc.isColorSupported);
  }

  /** Whether rows are redrawn in place; otherwise each change adds a line. */
  get redraws(): boolean {
    return this.stream.isTTY === true;
  }

  /** Shows the current rows of a subject, and what it waits for. */
  set(
    subject: string,
    rows: readonly string[],
    awaited: readonly Awaited[] = [],
  ): void {
    const before = this.#subjects.get(subject);
    const shown = rows.map(oneLine);
    this.#subjects.set(subject, shown);
    this.#awaited.set(subject, awaited);
    this.#startTicking();
    if (this.stream.isTTY === true) {
      this.#redraw();
      return;
    }
    for (const [index, row] of shown.entries())
      if (row !== before?.[index])
        this.stream.write(`${subject}: ${row.trim()}\n`);
  }

  /** Prints a permanent line above the rows that are redrawn. */
  print(line: string): void {
    this.#replace([]);
    this.stream.write(`${terminalOutput(line)}\n`);
    this.#redraw();
  }

  /** Removes a subject's rows. */
  discard(subject: string): void {
    this.#subjects.delete(subject);
    this.#awaited.delete(subject);
    if (this.#subjects.size === 0) this.#stopTicking();
    this.#redraw();
  }

  /** Makes a subject's rows permanent; other rows are drawn below them. */
  finish(subject: string): void {
    const rows = this.#subjects.get(subject);
    this.discard(subject);
    if (rows === undefined || this.stream.isTTY !== true) return;
    this.#replace(this.#block(subject, rows));
    this.#drawn = 0;
    this.#redraw();
  }

  /** Makes all rows permanent; further output goes below them. */
  close(): void {
    for (const subject of [...this.#subjects.keys()]) this.finish(subject);
  }

  #redraw(): void {
    if (this.stream.isTTY !== true) return;
    const all = [...this.#subjects].flatMap(([subject, rows]) =>
      this.#block(subject, rows),
    );
    // Lines that have scrolled off the screen cannot be redrawn. There is one
    // more below: the footer.
    const visible = Math.max(3, (this.stream.rows ?? 24) - 3);
    const lines =
      all.length <= visible
        ? all
        : [
            ...all.slice(0, visible),
            this.colors.dim(`… and ${all.length - visible} more lines`),
          ];
    this.#replace(
      this.#ticking === undefined ? lines : [...lines, this.#footer()],
    );
  }

  #startTicking(): void {
    if (this.#ticking !== undefined) return;
    this.#begunAtMs = this.now();
    const everyMs = this.redraws ? FRAME_MS : LINE_MS;
    this.#ticking = setInterval(() => this.#tick(), everyMs);
    // What shows that the work goes on must not keep the process running.
    this.#ticking.unref();
  }

  #stopTicking(): void {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }

  #tick(): void {
    this.#frame += 1;
    if (this.redraws) this.#redraw();
    else this.stream.write(`… ${this.#elapsed()}\n`);
  }

  #footer(): string {
    return this.colors.dim(
      `${FRAMES[this.#frame % FRAMES.length]} ${this.#elapsed()}`,
    );
  }

  /**
   * Such as `1 min 20 s, waiting for hie (until 2026-11-24 09:52 UTC at the
   * latest), lab`.
   */
  #elapsed(): string {
    const awaited = new Map<string, Date | undefined>();
    for (const { what, until } of [...this.#awaited.values()].flat())
      awaited.set(what, latest(awaited.get(what), until));
    const texts = [...awaited].map(([what, until]) =>
      until === undefined
        ? what
        : `${what} (until ${minuteOf(until)} at the latest)`,
    );
    const time = duration((this.now() - this.#begunAtMs) / 1_000);
    return texts.length === 0
      ? time
      : `${time}, waiting for ${texts.join(', ')}`;
  }

  #block(subject: string, rows: readonly string[]): string[] {
    const [first, ...others] = rows;
    if (first === undefined) return [];
    return [
      `${this.colors.bold(subject)}  ${first}`,
      ...others.map((row) => `  ${row}`),
    ];
  }

  /**
   * Replaces the block drawn last. One write, so that the screen does not
   * flicker.
   */
  #replace(lines: readonly string[]): void {
    const back = this.#drawn > 0 ? `${ESCAPE}[${this.#drawn}A${ESCAPE}[0J` : '';
    const columns = (widthOf(this.stream) ?? 80) - 1;
    const text = lines.map((line) => `${fitted(line, columns)}\n`).join('');
    if (back !== '' || text !== '') this.stream.write(`${back}${text}`);
    this.#drawn = lines.length;
  }
}

/** A row is one line: what is redrawn is counted in lines. */
const oneLine = (row: string): string =>
  terminalOutput(row).replaceAll(/\s*\n\s*/g, ' ');

const latest = (
  one: Date | undefined,
  other: Date | undefined,
): Date | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one;

function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  return whole < 60
    ? `${whole} s`
    : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

const ESCAPE = String.fromCharCode(27);
const COLOR = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`);

/**
 * Cuts a line to a visible width, because a wrapped line could not be redrawn.
 * Colour codes stay complete.
 */
export function fitted(line: string, columns: number): string {
  let room = columns;
  return line
    .split(COLOR)
    .map((part) => {
      if (COLOR.test(part)) return part;
      const characters = [...part];
      const kept =
        characters.length > room
          ? room > 0
            ? [...characters.slice(0, room - 1), '…']
            : []
          : characters;
      room -= Math.min(room, characters.length);
      return kept.join('');
    })
    .join('');
}
