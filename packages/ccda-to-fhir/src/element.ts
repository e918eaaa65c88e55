import { SaxesParser } from 'saxes';
import {
  type CdaPath,
  type CheckedPath,
  type PathStep,
  stepsOf,
} from './cda-path.ts';

/**
 * An element of a document. Names have no namespace prefix: `sdtc:raceCode` is
 * `raceCode`, the attribute `xsi:type` is `type`.
 */
export interface CdaElement {
  name: string;
  attributes: Readonly<Record<string, string>>;
  /** Elements and texts, in the order of the document. */
  content: (CdaElement | string)[];
  /** Whether something was made of what it says (`markRead`). */
  isRead?: boolean;
}

/**
 * Marks an element of which something is made. What nothing has read of an entry
 * stands as a note, or is counted (`unread-parts.ts`).
 */
export function markRead(element: CdaElement | undefined): void {
  if (element !== undefined) element.isRead = true;
}

/**
 * Structural faults after which it is unknown what an element belongs to.
 * Others, such as a bare `&`, harm only a text.
 */
const STRUCTURE = /tag|root|unclosed|unended|unexpected end/i;

/**
 * Reads XML that `openXml` has accepted.
 *
 * @throws when elements are not closed as they were opened
 */
export function readElements(xml: string): CdaElement {
  const document: CdaElement = {
    name: '',
    attributes: {},
    content: [],
    isRead: false,
  };
  const open = [document];
  let inner = document;
  // The same text for the same name, so that names are compared fast.
  const names = new Map<string, string>();
  const own = (name: string): string => {
    const known = names.get(name);
    if (known !== undefined) return known;
    const local = localName(name);
    names.set(name, local);
    return local;
  };
  const parser = new SaxesParser();
  const add = (text: string) => inner.content.push(text);
  parser.on('error', (error) => {
    if (STRUCTURE.test(error.message)) throw error;
  });
  parser.on('text', add);
  parser.on('cdata', add);
  parser.on('opentag', ({ name, attributes }) => {
    const element = {
      name: own(name),
      attributes: ownAttributes(attributes, own),
      content: [],
      isRead: false,
    };
    inner.content.push(element);
    open.push(element);
    inner = element;
  });
  parser.on('closetag', () => {
    open.pop();
    inner = open.at(-1) ?? document;
  });
  parser.write(xml).close();
  return document;
}

const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

function ownAttributes(
  attributes: Readonly<Record<string, string>>,
  nameOf: (name: string) => string,
): Record<string, string> {
  const own: Record<string, string> = {};
  for (const name in attributes) {
    const text = attributes[name]?.trim();
    if (text && !name.startsWith('xmlns')) own[nameOf(name)] = text;
  }
  return own;
}

export const elementsIn = ({ content }: CdaElement): CdaElement[] =>
  content.filter((part) => typeof part !== 'string');

export function childrenOf(
  of: CdaElement | undefined,
  name: string,
): CdaElement[] {
  const found: CdaElement[] = [];
  if (of !== undefined)
    for (const part of of.content)
      if (typeof part !== 'string' && part.name === name) found.push(part);
  return found;
}

export function childOf(
  of: CdaElement | undefined,
  name: string,
): CdaElement | undefined {
  if (of === undefined) return undefined;
  for (const part of of.content)
    if (typeof part !== 'string' && part.name === name) return part;
  return undefined;
}

/** The value of an attribute; undefined when it is missing or blank. */
export const attribute = (
  of: CdaElement | undefined,
  name: string,
): string | undefined => of?.attributes[name];

/** The status, code or mood of an element in lower case. */
export const statusCode = (of: CdaElement): string | undefined =>
  attribute(childOf(of, 'statusCode'), 'code')?.toLowerCase();

/**
 * C-CDA's templates are numbered under this root; rules name only the rest
 * (`4.16`).
 */
const TEMPLATE_ROOT = '2.16.840.1.113883.10.20.22.';

export const templatesOf = (of: CdaElement): string[] =>
  childrenOf(of, 'templateId').flatMap(
    (id) => attribute(id, 'root')?.replace(TEMPLATE_ROOT, '') ?? [],
  );

/**
 * The elements at a path (`path`), whose names the compiler knows; `.` is the
 * element itself.
 */
export function elementsAt<Path extends string>(
  from: CdaElement | undefined,
  path: CdaPath | (Path & CheckedPath<Path>),
): CdaElement[] {
  let found = from === undefined ? [] : [from];
  const steps = typeof path === 'string' ? stepsOf(path) : path;
  for (const { name, test } of steps) {
    const [only, ...others] = found;
    if (only === undefined) break;
    found =
      others.length === 0
        ? childrenOf(only, name)
        : found.flatMap((each) => childrenOf(each, name));
    if (test !== undefined && found.length > 0)
      found = found.filter((each) => passes(each, test));
  }
  return found;
}

function passes(
  element: CdaElement,
  [key, values]: NonNullable<PathStep['test']>,
): boolean {
  const own = key.startsWith('@')
    ? [attribute(element, key.slice(1))]
    : key === 'template'
      ? templatesOf(element)
      : childrenOf(element, key).map((child) => attribute(child, 'code'));
  return own.some((value) => value !== undefined && values.includes(value));
}

/** Elements that begin a line of their own. */
const BLOCKS: ReadonlySet<string> = new Set([
  'br',
  'caption',
  'item',
  'list',
  'paragraph',
  'table',
  'tr',
]);
const CELLS: ReadonlySet<string> = new Set(['td', 'th']);

/** The elements of a text that can be referred to, by their ids. */
export type NarrativeParts = ReadonlyMap<string, CdaElement>;

export function narrativeParts(text: CdaElement | undefined): NarrativeParts {
  const parts = new Map<string, CdaElement>();
  const collect = (element: CdaElement) => {
    const id = attribute(element, 'ID');
    if (id !== undefined && !parts.has(id)) parts.set(id, element);
    for (const part of element.content)
      if (typeof part !== 'string') collect(part);
  };
  if (text !== undefined) collect(text);
  return parts;
}

interface Narrative {
  /** The parts of the section's text, and then of the whole document. */
  parts: readonly NarrativeParts[];
}

/**
 * What an element says in words: its own, otherwise those of the narrative that
 * it refers to; one line for each block, cells divided by ` | `. Undefined when
 * there are none.
 */
export function words(
  element: CdaElement | undefined,
  narrative: Narrative,
): string | undefined {
  if (element === undefined || attribute(element, 'representation') === 'B64')
    return undefined;
  const said = ownWords(element) ?? referredWords(element, narrative);
  if (said !== undefined) markRead(element);
  return said;
}

/** The words of the narrative that an element refers to. */
export function referredWords(
  element: CdaElement | undefined,
  { parts }: Narrative,
): string | undefined {
  const reference = attribute(childOf(element, 'reference'), 'value')?.replace(
    /^#/,
    '',
  );
  const referred =
    reference && parts.map((each) => each.get(reference)).find(Boolean);
  return referred ? ownWords(referred) : undefined;
}

/** Words in one line. */
export const line = (
  element: CdaElement | undefined,
  narrative: Narrative,
): string | undefined => words(element, narrative)?.replaceAll('\n', ' ');

function ownWords(element: CdaElement): string | undefined {
  const text = textIn(element);
  if (text.trim() === '') return undefined;
  const lines = text
    .split('\n')
    .map((each) =>
      each
        .replaceAll(/\s+/g, ' ')
        .replaceAll(/^(?: ?\|)+ ?| ?(?:\| ?)+$/g, '')
        .trim(),
    )
    .filter((each) => each !== '');
  return lines.length === 0 ? undefined : lines.join('\n');
}

function textIn({ content }: CdaElement): string {
  return content
    .map((part) => {
      // Line breaks in the source are spaces.
      if (typeof part === 'string') return part.replaceAll(/\s+/g, ' ');
      const text = textIn(part);
      return BLOCKS.has(part.name)
        ? `\n${text}\n`
        : CELLS.has(part.name)
          ? `${text} | `
          : text;
    })
    .join('');
}

/** The text of an element itself, in one line. */
export const ownText = (element: CdaElement | undefined): string | undefined =>
  element?.content
    .filter((part) => typeof part === 'string')
    .join('')
    .replaceAll(/\s+/g, ' ')
    .trim() || undefined;

/** Why bytes are not passed to the XML parser. */
export type XmlRefusal =
  | 'it has a document type definition'
  | 'it has an unknown encoding'
  | 'its elements are nested too deeply'
  | 'it is not XML';

/**
 * The parser's time grows with the square of the depth; real documents are a
 * few dozen levels deep.
 */
const DEPTH_MAX = 200;

/** Encodings in which a document is read that it does not state. */
export type XmlEncoding = 'UTF-8' | 'Windows-1252';

export type OpenedXml =
  | {
      kind: 'xml';
      text: string;
      /** The encoding it was read in, if that is not the one it states. */
      readAs?: XmlEncoding;
    }
  | { kind: 'refused'; reason: XmlRefusal };

/**
 * Decodes bytes to XML text that is safe to parse: without a DTD there are no
 * entities except XML's own five, no external references and no expansion. The
 * encoding is that of the byte order mark, else of the XML declaration, else
 * UTF-8.
 */
export function openXml(bytes: Uint8Array): OpenedXml {
  const decoded = decode(bytes);
  if (decoded === undefined)
    return { kind: 'refused', reason: 'it has an unknown encoding' };
  const { text, readAs } = decoded;
  if (!FIRST_TAG.test(text.slice(0, 1_000)))
    return { kind: 'refused', reason: 'it is not XML' };
  // Searched everywhere: a DOCTYPE in a comment is refused too, which does no
  // harm.
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text))
    return { kind: 'refused', reason: 'it has a document type definition' };
  if (isTooDeep(text))
    return { kind: 'refused', reason: 'its elements are nested too deeply' };
  const plain = withPlainCharacters(text);
  return readAs === undefined
    ? { kind: 'xml', text: plain }
    : { kind: 'xml', text: plain, readAs };
}

/**
 * The text of bytes in the encoding that they state. Bytes that begin with `<?xml`
 * in single bytes are no UTF-16, whatever they state; a byte that is no UTF-8 in
 * a text that should be is one of Windows-1252.
 */
function decode(
  bytes: Uint8Array,
): { text: string; readAs?: XmlEncoding } | undefined {
  const encoding = encodingOf(bytes);
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
    const isStated = encoding === statedEncoding(bytes);
    return isStated ? { text } : { text, readAs: 'UTF-8' };
  } catch {
    return /^utf-?8$/i.test(encoding)
      ? { text: withSingleBytes(bytes), readAs: 'Windows-1252' }
      : undefined;
  }
}

/** Whether every other one of the first bytes is zero, as in UTF-16. */
const hasWideCharacters = (bytes: Uint8Array): boolean =>
  bytes.subarray(0, 200).includes(0);

/** Sequences of UTF-8, and single bytes that are none. */
const SEQUENCES =
  /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[\x80-\xff]/g;

function withSingleBytes(bytes: Uint8Array): string {
  const utf8 = new TextDecoder('utf-8');
  const single = new TextDecoder('windows-1252');
  return Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(SEQUENCES, (sequence) =>
      (sequence.length === 1 ? single : utf8).decode(
        Buffer.from(sequence, 'latin1'),
      ),
    );
}

const FIRST_TAG = /^\s*<[?!A-Za-z]/;
const LONGEST_CHARACTER_BYTES = 4;

/**
 * Whether bytes begin like XML, judged by their first kilobytes. If not,
 * `openXml` refuses them.
 */
export function startsAsXml(bytes: Uint8Array): boolean {
  try {
    const start = bytes.subarray(0, 1_000 * LONGEST_CHARACTER_BYTES);
    return FIRST_TAG.test(
      new TextDecoder(encodingOf(bytes)).decode(start).slice(0, 1_000),
    );
  } catch {
    return false;
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) at = endOf(text, '-->', at);
    else if (text.startsWith('<![CDATA[', at)) at = endOf(text, ']]>', at);
    else if (text[at + 1] === '?' || text[at + 1] === '!')
      at = endOf(text, '>', at);
    else {
      const isEnd = text[at + 1] === '/';
      at = endOfTag(text, at);
      if (isEnd) depth -= 1;
      else if (text[at - 2] !== '/') depth += 1;
      if (depth > DEPTH_MAX) return true;
    }
  }
  return false;
}

function endOf(text: string, mark: string, from: number): number {
  const end = text.indexOf(mark, from);
  return end < 0 ? text.length : end + mark.length;
}

const CLOSE = '>'.charCodeAt(0);
const QUOTE = '"'.charCodeAt(0);
const APOSTROPHE = "'".charCodeAt(0);

/**
 * The index after the `>` that closes the tag; a `>` in an attribute value does
 * not close it.
 */
function endOfTag(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (character === CLOSE) return at + 1;
    if (character !== QUOTE && character !== APOSTROPHE) continue;
    const end = text.indexOf(character === QUOTE ? '"' : "'", at + 1);
    if (end < 0) return text.length;
    at = end;
  }
  return text.length;
}

/** Whether the root element is that of a CDA document. */
export const isClinicalDocument = (text: string): boolean =>
  /<(?:[A-Za-z][\w.-]*:)?ClinicalDocument[\s>]/.test(text.slice(0, 20_000));

function encodingOf(bytes: Uint8Array): string {
  const stated = statedEncoding(bytes);
  return /^utf-?16/i.test(stated) && !hasWideCharacters(bytes)
    ? 'utf-8'
    : stated;
}

function statedEncoding(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return (
    /^[^<]{0,3}<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)["']/i.exec(
      start,
    )?.[1] ?? 'utf-8'
  );
}

/**
 * Replaces numeric character references by characters, except those that would
 * become markup.
 */
const withPlainCharacters = (text: string): string =>
  text.includes('&#')
    ? text.replaceAll(
        /&#(?:x([0-9a-f]{1,6})|(\d{1,7}));/gi,
        (whole, hex?: string, decimal?: string) => {
          const code =
            hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
          if (code === 9 || code === 10 || code === 13) return ' ';
          if (
            code < 32 ||
            code > 0x10ffff ||
            (code >= 0xd800 && code <= 0xdfff)
          )
            return '';
          const character = String.fromCodePoint(code);
          return '<>&"\''.includes(character) ? whole : character;
        },
      )
    : text;
