/** Why bytes are not passed to the XML parser. */
export type XmlRefusal =
  | 'it has a document type definition'
  | 'it has an unknown encoding'
  | 'its elements are nested too deeply'
  | 'it is not XML';

/** The parser's time grows with the square of the depth; real documents are a few dozen levels deep. */
const DEPTH_MAX = 200;

export type OpenedXml = { kind: 'xml'; text: string } | { kind: 'refused'; reason: XmlRefusal };

/**
 * Decodes bytes to XML text that is safe to parse: without a DTD there are no entities except XML's own five, no external
 * references and no expansion. The encoding is that of the byte order mark, else of the XML declaration, else UTF-8.
 */
export function openXml(bytes: Uint8Array): OpenedXml {
  const encoding = encodingOf(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return { kind: 'refused', reason: 'it has an unknown encoding' };
  }
  if (!FIRST_TAG.test(text.slice(0, 1_000))) return { kind: 'refused', reason: 'it is not XML' };
  // Searched everywhere: a DOCTYPE in a comment is refused too, which does no harm.
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text))
    return { kind: 'refused', reason: 'it has a document type definition' };
  if (isTooDeep(text)) return { kind: 'refused', reason: 'its elements are nested too deeply' };
  return { kind: 'xml', text: withPlainCharacters(text) };
}

const FIRST_TAG = /^\s*<[?!A-Za-z]/;
const LONGEST_CHARACTER_BYTES = 4;

/** Whether bytes begin like XML, judged by their first kilobytes. If not, `openXml` refuses them. */
export function startsAsXml(bytes: Uint8Array): boolean {
  try {
    const start = bytes.subarray(0, 1_000 * LONGEST_CHARACTER_BYTES);
    return FIRST_TAG.test(new TextDecoder(encodingOf(bytes)).decode(start).slice(0, 1_000));
  } catch {
    return false;
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    if (text.startsWith('<!--', at)) at = endOf(text, '-->', at);
    else if (text.startsWith('<![CDATA[', at)) at = endOf(text, ']]>', at);
    else if (text[at + 1] === '?' || text[at + 1] === '!') at = endOf(text, '>', at);
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

/** The index after the `>` that closes the tag; a `>` in an attribute value does not close it. */
function endOfTag(text: string, from: number): number {
  let quote = '';
  for (let at = from; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === '"' || character === "'") quote = character;
    else if (character === '>') return at + 1;
  }
  return text.length;
}

/** Whether the root element is that of a CDA document. */
export const isClinicalDocument = (text: string): boolean =>
  /<(?:[A-Za-z][\w.-]*:)?ClinicalDocument[\s>]/.test(text.slice(0, 20_000));

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return /^[^<]{0,3}<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)["']/i.exec(start)?.[1] ?? 'utf-8';
}

/** Replaces numeric character references by characters, except those that would become markup. */
const withPlainCharacters = (text: string): string =>
  text.includes('&#')
    ? text.replaceAll(/&#(?:x([0-9a-f]{1,6})|(\d{1,7}));/gi, (whole, hex?: string, decimal?: string) => {
        const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
        if (code === 9 || code === 10 || code === 13) return ' ';
        if (code < 32 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return '';
        const character = String.fromCodePoint(code);
        return '<>&"\''.includes(character) ? whole : character;
      })
    : text;
