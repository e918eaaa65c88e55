/** Why bytes are not given to the XML parser. */
export type XmlRefusal =
  | 'a document type definition'
  | 'an unknown encoding'
  | 'elements nested too deep'
  | 'nothing that is XML';

/** The parser's time grows with the square of the depth; documents have some tens. */
const DEPTH_MAX = 200;

export type OpenedXml = { kind: 'xml'; text: string } | { kind: 'refused'; reason: XmlRefusal };

/**
 * Bytes as XML text that is safe to parse: no DTD and so no entity but the five that XML itself has, nothing external,
 * no expansion. Decodes by byte order mark, else as the XML declaration says, else as UTF-8.
 */
export function openXml(bytes: Uint8Array): OpenedXml {
  const encoding = encodingOf(bytes);
  let text: string;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return { kind: 'refused', reason: 'an unknown encoding' };
  }
  if (!FIRST_TAG.test(text.slice(0, 1_000))) return { kind: 'refused', reason: 'nothing that is XML' };
  // Anywhere: a DOCTYPE in a comment is refused too, which costs nothing.
  if (/<!(?:DOCTYPE|ENTITY)/i.test(text)) return { kind: 'refused', reason: 'a document type definition' };
  if (isTooDeep(text)) return { kind: 'refused', reason: 'elements nested too deep' };
  return { kind: 'xml', text: withPlainCharacters(text) };
}

const FIRST_TAG = /^\s*<[?!A-Za-z]/;
const LONGEST_CHARACTER_BYTES = 4;

/** Whether bytes begin as XML does, by their first kilobytes: what does not is nothing that `openXml` gives a text of. */
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

/** After the `>` that ends the tag; one in an attribute's value ends none. */
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

/** Whether a document is a CDA document, by its root element. */
export const isClinicalDocument = (text: string): boolean =>
  /<(?:[A-Za-z][\w.-]*:)?ClinicalDocument[\s>]/.test(text.slice(0, 20_000));

function encodingOf(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  return /^[^<]{0,3}<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)["']/i.exec(start)?.[1] ?? 'utf-8';
}

/** Numeric character references as characters; those of XML's own five stay, for they would become markup. */
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
