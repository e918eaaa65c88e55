import { IheError } from '../ihe-error.ts';

/** What was odd about XML that could be read nevertheless. */
export type XmlRemark =
  /**
   * Bytes that are not UTF-8, though it was announced: read as whatever else is
   * announced, or as Windows-1252.
   */
  'not-utf-8';

/**
 * Decodes XML as RFC 7303 says: a byte order mark wins over the header's
 * charset, that over the XML declaration, and UTF-8 is the default. Bytes that
 * are UTF-8 are taken as such if either says so, because servers write a
 * charset of their own into the header. Whoever announces UTF-8 and sends other
 * bytes is taken at the bytes.
 *
 * @param charset that of the Content-Type
 * @throws {IheError} `xml.charset`
 */
export function decodeXml(
  bytes: Uint8Array,
  charset?: string,
  remark: (remark: XmlRemark) => void = () => {},
): string {
  const wide = sixteenBits(bytes);
  if (wide !== undefined) return new TextDecoder(wide).decode(bytes);

  const named = [eightBits(charset), eightBits(declared(bytes))].filter(
    (each) => each !== undefined,
  );
  const other = named.find((each) => each !== 'utf-8');
  const isUtf8Said = named.length === 0 || named.includes('utf-8');
  if (other !== undefined && !isUtf8Said)
    return new TextDecoder(other).decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    remark('not-utf-8');
    return new TextDecoder(other ?? 'windows-1252').decode(bytes);
  }
}

/** UTF-16 is told by its bytes: many announce it for text that is not. */
function sixteenBits([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0x3c && second === 0) return 'utf-16le';
  if (first === 0 && second === 0x3c) return 'utf-16be';
  return undefined;
}

function eightBits(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  let encoding: string;
  try {
    ({ encoding } = new TextDecoder(label.trim()));
  } catch {
    throw new IheError(
      'xml.charset',
      'The XML is in a character set that this program does not know.',
    );
  }
  return encoding.startsWith('utf-16') ? undefined : encoding;
}

/** The encoding that the XML declaration names. */
function declared(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  const [, label] =
    /^[^<]{0,3}\s*<\?xml[^>]*\bencoding\s*=\s*["']([\w.:-]+)["']/i.exec(
      start,
    ) ?? [];
  return label;
}
