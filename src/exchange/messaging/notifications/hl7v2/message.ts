import { createHash, hash } from 'node:crypto';
import { lookupTable } from '../../../../lib/lookup-table.ts';
import { invalid, type UnreadableMessageError } from '../inbound.ts';
import tables from './tables.json' with { type: 'json' };
import { readHl7Text, textOfBytes } from './text.ts';

/**
 * Limits far above any real message. Only an observation may be longer, because
 * it may contain a file.
 */
export const HL7_LIMITS = {
  segments: 1_000,
  segmentCharacters: 100_000,
  repetitions: 100,
} as const;

/** The separator characters of a message: MSH-1 and MSH-2. */
export interface Separators {
  field: string;
  component: string;
  repetition: string;
  escape: string;
  subcomponent: string;
}

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
  readonly #read: Set<string>;

  /** Throws UnreadableMessageError when the segment is too long to be read. */
  constructor(
    line: string,
    separators: Separators,
    read: Set<string>,
    header?: Hl7Segment,
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
    this.#read = read;
    const of = header ?? this;
    this.origin = { application: of.raw(3), facility: of.raw(4) };
  }

  /** The field as received, with escape sequences. */
  raw(field: number): string {
    this.#read.add(`${this.name}-${field}`);
    return this.#fields[field] ?? '';
  }

  /**
   * A value of the field's first repetition; undefined when it is empty or
   * explicitly null (`""`).
   */
  value(field: number, component = 1, subcomponent = 1): string | undefined {
    const [first = ''] = this.raw(field).split(this.#separators.repetition, 1);
    return this.#readerOf(first)(component, subcomponent);
  }

  /**
   * Each repetition of the field as a reader of its components. Throws
   * UnreadableMessageError when there are too many.
   */
  repetitions(field: number): ComponentReader[] {
    const raw = this.raw(field);
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
    return texts.map((text) => this.#readerOf(text));
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

  #readerOf(text: string): ComponentReader {
    const components = text.split(this.#separators.component);
    return (component, subcomponent = 1) => {
      const part = components[component - 1]?.split(
        this.#separators.subcomponent,
      )[subcomponent - 1];
      // PostgreSQL cannot store the NUL character, which carries no meaning.
      const value = withoutEscapes(part ?? '', this.#separators)
        .replaceAll('\0', '')
        .trim();
      return value === '' || value === '""' ? undefined : value;
    };
  }
}

export type ComponentReader = (
  component: number,
  subcomponent?: number,
) => string | undefined;

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
    .map((line) => line.trimStart())
    .filter((line) => line !== '');
  const first = lines[0] ?? '';
  if (!first.startsWith('MSH') || first.length < 8)
    throw invalid(
      'This is not an HL7 v2 message: it must begin with MSH',
      'MSH',
    );
  if (lines.filter((line) => line.startsWith('MSH')).length > 1)
    throw invalid(
      'The body contains several messages; send one message in each request',
      'MSH',
    );
  const separators = separatorsOf(first);
  const read = new Set<string>();
  // Not refused at once: the header can be read, so that the message is
  // answered.
  const checked = (): readonly string[] => {
    if (problem !== undefined) throw invalid(problem, 'MSH-18');
    return within(lines);
  };
  const header = new Hl7Segment(first, separators, read);
  return {
    separators,
    header,
    /**
     * What the message contains and nothing has read until now: fields
     * (`PID-13`), or segments of which no field was read (`NK1`), sorted. Never
     * a value.
     */
    unread: () => unreadIn(within(lines), separators.field, read),
    /**
     * What of that which was read the message holds: fields (`PID-11`), and
     * hashes of the sender's own codes with their field. Never a value.
     */
    held: () => heldIn(within(lines), separators, read),
    /**
     * SHA-256 (hex) of what the message says, apart from the time at which it
     * was sent (MSH-7).
     */
    fingerprint: fingerprintOf(lines, separators),
    /**
     * The first segment of that name. Throws UnreadableMessageError for a
     * message that is too long or in an unknown character set.
     */
    segment(name: string) {
      const line = checked().find(
        (each) => each === name || each.startsWith(name + separators.field),
      );
      return line === undefined
        ? undefined
        : new Hl7Segment(line, separators, read, header);
    },
    /**
     * All segments of these names in their order. Throws UnreadableMessageError
     * likewise.
     */
    segments: (...names: string[]) =>
      checked()
        .filter((line) =>
          names.includes(line.split(separators.field, 1)[0] ?? ''),
        )
        .map((line) => new Hl7Segment(line, separators, read, header)),
  };
}

function within(lines: readonly string[]): readonly string[] {
  if (lines.length > HL7_LIMITS.segments)
    throw tooMuch(`${HL7_LIMITS.segments} segments of a message`, 'MSH');
  return lines;
}

const tooMuch = (limit: string, place: string): UnreadableMessageError =>
  invalid(`At most ${limit} are accepted`, place);

/**
 * The header's separators, encoding and version, and the numbers of segments
 * and of note lines say nothing more.
 */
const FORMAL =
  /^(?:MSH-(?:1|2|5|6|8|9|11|12|15|16|17|18|19|20|21)|(?!RXD|EVN|MSA)[A-Z0-9]{3}-1)$/;

function unreadIn(
  lines: readonly string[],
  separator: string,
  read: ReadonlySet<string>,
): string[] {
  const readSegments = new Set([...read].map((place) => place.slice(0, 3)));
  const unread = lines.flatMap((line) => {
    const [name = '', ...fields] = line.split(separator);
    // Anything else is no segment, and may be a part of a text.
    if (!/^[A-Z][A-Z0-9]{2}$/.test(name)) return [];
    if (!readSegments.has(name)) return [name];
    const first = name === 'MSH' ? 2 : 1;
    return fields.flatMap((text, index) => {
      const place = `${name}-${index + first}`;
      const isFormal =
        FORMAL.test(place) && (name === 'MSH' || /^\d{0,4}$/.test(text));
      return text === '' || text === '""' || isFormal || read.has(place)
        ? []
        : [place];
    });
  });
  return [...new Set(unread)].sort().slice(0, UNREAD_MAX);
}

const UNREAD_MAX = 500;

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
        if (
          CODED.has(place) &&
          code &&
          !((system?.toUpperCase() ?? '') in tables['0396'])
        )
          ownCodes.add(`${place} ${hashOf(code)}`);
    }
  }
  return {
    filled: [...filled].sort().slice(0, UNREAD_MAX),
    ownCodes: [...ownCodes].sort().slice(0, UNREAD_MAX),
  };
}

/** Fields whose codes say what something is. */
const CODED: ReadonlySet<string> = new Set(tables.coded);
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
const STANDS_FOR: Readonly<Record<string, keyof Separators>> = lookupTable(
  tables.escapes,
) as Record<string, keyof Separators>;

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
