import { createHash, hash } from 'node:crypto';
import { codingSystemUrl } from './coding-systems.ts';
import { invalid, type UnreadableMessageError } from './errors.ts';
import { hl7Table } from './lookup-table.ts';
import { ReadingLog } from './reading-log.ts';
import { segmentLines } from './segment-lines.ts';
import type { Separators } from './separators.ts';
import { readHl7Text, textOfBytes } from './text.ts';
import { FORMAL, unreadIn } from './unread.ts';

/**
 * Limits far above any real message. Only an observation may be longer, because
 * it may contain a file.
 */
export const HL7_LIMITS = {
  segments: 1_000,
  segmentCharacters: 100_000,
  repetitions: 100,
} as const;

/**
 * One segment; fields, components and subcomponents count from 1 as in the
 * standard.
 */
export class Hl7Segment {
  readonly name: string;
  /**
   * Sending application and facility (MSH-3, MSH-4), as sent: they assigned the
   * numbers that name no authority.
   */
  readonly origin: { application: string; facility: string };
  readonly #fields: string[];
  readonly #separators: Separators;
  readonly #log: ReadingLog;
  readonly #line: number;

  /**
   * Throws UnreadableMessageError when the segment is too long to be read.
   *
   * @param of the message that the segment belongs to, and its place there
   */
  constructor(
    line: string,
    separators: Separators,
    of: { log: ReadingLog; line: number; header?: Hl7Segment },
  ) {
    if (
      line.length > HL7_LIMITS.segmentCharacters &&
      !line.startsWith(`OBX${separators.field}`)
    )
      throw tooMuch(
        `${HL7_LIMITS.segmentCharacters} characters of a segment`,
        line.slice(0, 3),
      );
    const fields = line.split(separators.field);
    this.name = fields[0] ?? '';
    // MSH-1 is the separator itself.
    this.#fields =
      this.name === 'MSH'
        ? ['MSH', separators.field, ...fields.slice(1)]
        : fields;
    this.#separators = separators;
    this.#log = of.log;
    this.#line = of.line;
    const header = of.header ?? this;
    this.origin = { application: header.raw(3), facility: header.raw(4) };
  }

  /** The field as received, with escape sequences. */
  raw(field: number): string {
    this.#log.note(this.name, { line: this.#line, field });
    return this.#fields[field] ?? '';
  }

  /** Whether the sender says that there is nothing any more: `""`. */
  isNull(field: number): boolean {
    return this.#fields[field] === '""';
  }

  /** @param what happened to the field, as `repaired` */
  remark(field: number, what: string): void {
    this.#log.remark(`${this.name}-${field}`, what);
  }

  /**
   * A value of the field's first repetition; undefined when it is empty or
   * explicitly null (`""`).
   */
  value(field: number, component = 1, subcomponent = 1): string | undefined {
    const raw = this.#fields[field] ?? '';
    const [first = ''] = raw.split(this.#separators.repetition, 1);
    return this.#readerOf(first, field, 0)(component, subcomponent);
  }

  /**
   * Each repetition of the field as a reader of its components. Throws
   * UnreadableMessageError when there are too many.
   */
  repetitions(field: number): ComponentReader[] {
    const raw = this.#fields[field] ?? '';
    if (raw === '') return [];
    const texts = raw.split(
      this.#separators.repetition,
      HL7_LIMITS.repetitions + 1,
    );
    if (texts.length > HL7_LIMITS.repetitions)
      throw tooMuch(
        `${HL7_LIMITS.repetitions} repetitions of a field`,
        `${this.name}-${field}`,
      );
    return texts.map((text, nth) => this.#readerOf(text, field, nth));
  }

  /**
   * Each repetition of the field as one text: a component separator that the
   * sender did not escape is text, too.
   */
  texts(field: number): string[] {
    const { repetition } = this.#separators;
    return this.raw(field)
      .split(repetition)
      .map((text) =>
        withoutEscapes(text, this.#separators).replaceAll('\0', ''),
      );
  }

  #readerOf(text: string, field: number, repetition: number): ComponentReader {
    const { subcomponent: separator } = this.#separators;
    const components = text.split(this.#separators.component);
    const plain = (part = ''): string | undefined => {
      // PostgreSQL cannot store the NUL character, which carries no meaning.
      const value = withoutEscapes(part, this.#separators)
        .replaceAll('\0', '')
        .trim();
      return value === '' || value === '""' ? undefined : value;
    };
    const note = (component: number, subcomponent?: number) => {
      const part = { field, repetition, component, subcomponent };
      this.#log.note(this.name, { line: this.#line, ...part });
    };
    const read = (component: number, subcomponent = 1) => {
      note(component, subcomponent);
      const parts = components[component - 1]?.split(separator);
      return plain(parts?.[subcomponent - 1]);
    };
    const whole = (component: number) => {
      note(component);
      const part = components[component - 1];
      if (part?.includes(separator)) this.remark(field, 'repaired');
      return plain(part);
    };
    return Object.assign(read, { whole });
  }
}

export interface ComponentReader {
  (component: number, subcomponent?: number): string | undefined;
  /**
   * A component that has no subcomponents by its type: a `&` that the sender did
   * not escape is text.
   */
  whole(component: number): string | undefined;
}

export type Hl7Message = ReturnType<typeof parseHl7>;

/**
 * Parses one message in the vertical bar encoding (ER7). Segments end in CR, LF
 * or both. Throws UnreadableMessageError when there is no MSH segment, without
 * which no acknowledgement is possible.
 */
export function parseHl7(bytes: Buffer) {
  const { text, problem } = readHl7Text(bytes);
  const lines = text
    .split(/[\r\n]+/, HL7_LIMITS.segments + 2)
    .filter((line) => line.trim() !== '');
  const first = lines[0]?.trimStart() ?? '';
  if (!first.startsWith('MSH') || first.length < 8)
    throw invalid(
      'This is not an HL7 v2 message: it must begin with MSH',
      'MSH',
    );
  if (lines.filter((line) => /^\s*MSH/.test(line)).length > 1)
    throw invalid(
      'The body contains several messages; send one message in each request',
      'MSH',
    );
  const separators = separatorsOf(first);
  const log = new ReadingLog();
  const { segments, strays } = segmentLines(lines, separators.field, log);
  // Not refused at once: the header can be read, so that the message is
  // answered.
  const checked = (): readonly string[] => {
    if (problem !== undefined) throw invalid(problem, 'MSH-18');
    within(lines);
    return segments;
  };
  const header = new Hl7Segment(first, separators, { log, line: 0 });
  const segmentAt = (line: number) =>
    new Hl7Segment(segments[line] ?? '', separators, { log, line, header });
  return {
    separators,
    header,
    /** See `unreadIn`. */
    unread: () => unreadIn(checked(), separators, log),
    /** What was put right in reading, or not understood: `OBX-6 repaired`. */
    remarks: () => log.remarks,
    /** The names of all segments. Throws UnreadableMessageError likewise. */
    names: () =>
      checked().map((text) => text.split(separators.field, 1)[0]?.trim() ?? ''),
    /** The segments after which there are lines that are no segments. */
    strays,
    /**
     * What of that which was read the message holds: fields (`PID-11`), and
     * hashes of the sender's own codes with their field. Never a value.
     */
    held: () => heldIn(checked(), separators, log.fields),
    /**
     * SHA-256 (hex) of what the message says, apart from the time at which it
     * was sent (MSH-7).
     */
    fingerprint: fingerprintOf(
      lines.map((line) => line.trimStart()),
      separators,
    ),
    /**
     * The first segment of that name. Throws UnreadableMessageError for a
     * message that is too long or in an unknown character set.
     */
    segment(name: string) {
      const line = checked().findIndex(
        (each) => each === name || each.startsWith(name + separators.field),
      );
      return line < 0 ? undefined : segmentAt(line);
    },
    /**
     * All segments of these names in their order. Throws UnreadableMessageError
     * likewise.
     */
    segments: (...names: string[]) =>
      checked().flatMap((text, line) =>
        names.includes(text.split(separators.field, 1)[0] ?? '')
          ? [segmentAt(line)]
          : [],
      ),
  };
}

function within(lines: readonly string[]): void {
  if (lines.length > HL7_LIMITS.segments)
    throw tooMuch(`${HL7_LIMITS.segments} segments of a message`, 'MSH');
}

const tooMuch = (limit: string, place: string): UnreadableMessageError =>
  invalid(`At most ${limit} are accepted`, place);

const HELD_MAX = 500;

function heldIn(
  lines: readonly string[],
  { field, component, repetition }: Separators,
  read: ReadonlySet<string>,
) {
  const filled = new Set<string>();
  const ownCodes = new Set<string>();
  for (const line of lines) {
    const [name = '', ...fields] = line.split(field);
    for (const [index, text] of fields.entries()) {
      const place = `${name}-${index + (name === 'MSH' ? 2 : 1)}`;
      if (
        text === '' ||
        text === '""' ||
        FORMAL.test(place) ||
        !read.has(place)
      )
        continue;
      filled.add(place);
      for (const [code, , system] of text
        .split(repetition)
        .map((each) => each.split(component)))
        if (CODED.has(place) && code && codingSystemUrl(system) === undefined)
          ownCodes.add(`${place} ${hashOf(code)}`);
    }
  }
  return {
    filled: [...filled].sort().slice(0, HELD_MAX),
    ownCodes: [...ownCodes].sort().slice(0, HELD_MAX),
  };
}

/** Fields whose codes say what something is. */
const CODED: ReadonlySet<string> = new Set([
  'OBR-4',
  'OBX-3',
  'DG1-3',
  'AL1-3',
  'PR1-3',
  'RXA-5',
  'RXE-2',
  'RXD-2',
  'RXO-1',
  'TXA-2',
  'SCH-7',
  'SPM-4',
  'PV1-2',
  'PV1-36',
  'OBR-24',
]);
const hashOf = (code: string): string =>
  createHash('sha256').update(code).digest('hex').slice(0, 12);

function fingerprintOf(
  [first = '', ...others]: readonly string[],
  { field }: Separators,
): string {
  const header = first.split(field);
  header[6] = '';
  return hash('sha256', [header.join(field), ...others].join('\r'));
}

function separatorsOf(header: string): Separators {
  const field = header.charAt(3);
  const signs = header.split(field)[1] ?? '';
  const [
    component = '^',
    repetition = '~',
    escapeSign = '\\',
    subcomponent = '&',
  ] = signs;
  return { field, component, repetition, escape: escapeSign, subcomponent };
}

/**
 * Replaces the escape sequences that the standard knows: `\F\` and the like are
 * separators as text, `\X0D\` is bytes in hex, `\.br\` a line break. Anything
 * else between two escape characters stays as it is: many senders do not escape
 * them.
 */
function withoutEscapes(text: string, separators: Separators): string {
  const sign = separators.escape;
  if (sign === '' || !text.includes(sign)) return text;
  const [first = '', ...rest] = text.split(sign);
  let result = first;
  for (let at = 0; at < rest.length; at += 1) {
    const sequence = rest[at] ?? '';
    const replaced =
      at + 1 < rest.length ? meaning(sequence, separators) : undefined;
    if (replaced === undefined) result += `${sign}${sequence}`;
    else {
      at += 1;
      result += `${replaced}${rest[at]}`;
    }
  }
  return result;
}

/** Sequences that stand for a separator as text. */
const STANDS_FOR: Readonly<Record<string, keyof Separators>> = hl7Table({
  F: 'field',
  S: 'component',
  T: 'subcomponent',
  R: 'repetition',
  E: 'escape',
});

/**
 * Undefined: not a sequence of the standard, or one whose meaning only the
 * sender knows.
 */
function meaning(sequence: string, separators: Separators): string | undefined {
  const separator = STANDS_FOR[sequence];
  if (separator !== undefined) return separators[separator];
  // Highlighting begins and ends.
  if (sequence === 'H' || sequence === 'N') return '';
  // Formatted text: a new line, whatever its alignment; blanks; indentation and
  // the like.
  if (/^\.(?:br|sp\+?\d*|ce)$/i.test(sequence)) return '\n';
  const [, blanks] = /^\.sk\+?(\d{1,2})$/i.exec(sequence) ?? [];
  if (blanks !== undefined) return ' '.repeat(Number(blanks));
  if (/^\.(?:fi|nf|(?:in|ti)[+-]?\d*)$/i.test(sequence)) return '';
  return /^X(?:[0-9A-Fa-f]{2})+$/.test(sequence)
    ? textOfBytes(Buffer.from(sequence.slice(1), 'hex'))
    : undefined;
}
