import { hl7Table } from './lookup-table.ts';

const START_BLOCK = 0x0b;
const END_BLOCK = 0x1c;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

export interface DecodedText {
  text: string;
  /**
   * Why the text cannot be trusted beyond its header: the character set of
   * MSH-18 is unknown, or the bytes are not in it.
   */
  problem?: string;
}

/**
 * Decodes an HL7 v2 message: removes the MLLP frame if an interface engine left
 * it on, and what a sender wrote of a message before it began the frame anew.
 * The character set is that of MSH-18 (HL7 table 0211, and Windows-1252).
 * Without one, the text is UTF-8 if valid, otherwise Windows-1252, of which
 * Latin-1 is a part.
 */
export function readHl7Text(bytes: Buffer): DecodedText {
  const framed = withoutFrame(bytes);
  if (framed.subarray(0, 3).equals(BYTE_ORDER_MARK))
    return inUtf8(framed.subarray(3));
  const names = charsetsOf(framed.toString('latin1'));
  const charsets = names.map(charsetNamed);
  if (charsets.includes(undefined))
    return {
      text: western(framed),
      problem:
        'The character set is not known: send UNICODE UTF-8, 8859/1 to 8859/15, Windows-1252 or ASCII',
    };
  const [charset = ANY] = charsets;
  if (charset === 'utf-8') return inUtf8(framed);
  if (charset === ANY) return { text: textOfBytes(framed) };
  return {
    text:
      charset === WESTERN
        ? western(framed)
        : new TextDecoder(charset).decode(framed),
  };
}

export function withoutFrame(bytes: Buffer): Buffer {
  const start = frameStart(bytes);
  const end = bytes.indexOf(END_BLOCK, start);
  return bytes.subarray(start, end < 0 ? undefined : end);
}

/**
 * After the last start block that begins a message. A vertical tab within a
 * text is none.
 */
function frameStart(bytes: Buffer): number {
  const anew = bytes.lastIndexOf('\u000bMSH', undefined, 'latin1');
  if (anew > 0) return anew + 1;
  return bytes[0] === START_BLOCK ? 1 : 0;
}

function inUtf8(bytes: Buffer): DecodedText {
  try {
    return {
      text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(
        bytes,
      ),
    };
  } catch {
    return {
      text: western(bytes),
      problem: 'The message is not in the character set that it names: UTF-8',
    };
  }
}

/**
 * Text without a named character set: UTF-8 if valid, otherwise Windows-1252.
 */
export function textOfBytes(bytes: Buffer): string {
  const { text, problem } = inUtf8(bytes);
  return problem === undefined ? text : western(bytes);
}

/**
 * Encodings by their names of the WHATWG. `any` is UTF-8 if valid, otherwise
 * Windows-1252.
 */
type Charset =
  | 'any'
  | 'utf-8'
  | 'windows-1252'
  | `iso-8859-${number}`
  | 'gb18030'
  | 'big5'
  | 'euc-kr';

const ANY = 'any';
const WESTERN = 'windows-1252';
/**
 * What Windows-1252 has in place of the control characters 80 to 9F of ISO
 * 8859-1. TextDecoder ignores it in Node.js 22.18 and 24.0 to 24.6, which may
 * run this package (https://github.com/nodejs/node/issues/59515).
 */
const WINDOWS = '€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ';
const western = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replaceAll(/[\u0080-\u009f]/g, (sign) =>
      WINDOWS.charAt(sign.charCodeAt(0) - 0x80),
    );

/**
 * Names of character sets without signs, as senders write them, with those of
 * the WHATWG; ASCII is part of all of them.
 */
const CHARSETS: Readonly<Record<string, Charset>> = hl7Table({
  '': 'any',
  ascii: 'any',
  usascii: 'any',
  isoir6: 'any',
  unicodeutf8: 'utf-8',
  utf8: 'utf-8',
  unicode: 'utf-8',
  isoir192: 'utf-8',
  windows1252: 'windows-1252',
  cp1252: 'windows-1252',
  ansi: 'windows-1252',
  latin1: 'windows-1252',
  isoir100: 'windows-1252',
  gb180302000: 'gb18030',
  gb18030: 'gb18030',
  big5: 'big5',
  ksx1001: 'euc-kr',
});

/** Undefined: not known. */
function charsetNamed(name: string): Charset | undefined {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
  const part = /^(?:iso)?8859(1[0-6]|[1-9])$/.exec(plain)?.[1];
  if (part === '1') return WESTERN;
  // ISO 8859-12 was never made.
  if (part !== undefined)
    return part === '12' ? undefined : `iso-8859-${Number(part)}`;
  return CHARSETS[plain];
}

/**
 * MSH-18, read before decoding: the header's separators are the same bytes in
 * every supported character set.
 */
function charsetsOf(latin: string): string[] {
  const header = latin.split(/[\r\n]/, 1)[0] ?? '';
  const field = header.charAt(3);
  const fields = header.split(field);
  return (fields[17] ?? '').split(fields[1]?.charAt(1) || '~');
}
