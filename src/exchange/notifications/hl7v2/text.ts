const START_BLOCK = 0x0b;
const END_BLOCK = 0x1c;

/**
 * The text of an HL7 v2 message as it came over HTTP: without the frame of MLLP, if a gateway left it on, and by the
 * character set that MSH-18 names. Without a name it is UTF-8 where that is possible, else Latin-1.
 */
export function readHl7Text(bytes: Buffer): string {
  const start = bytes[0] === START_BLOCK ? 1 : 0;
  const end = bytes.indexOf(END_BLOCK, start);
  const framed = bytes.subarray(start, end < 0 ? undefined : end);
  return decode(framed).replace(/^\uFEFF/, '');
}

function decode(bytes: Buffer): string {
  const latin = bytes.toString('latin1');
  if (/8859[/-]1\b/.test(charsetOf(latin))) return latin;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return latin;
  }
}

/** MSH-18, read before the text is: the header's own signs are the same in every character set we know. */
function charsetOf(latin: string): string {
  const header = latin.split(/[\r\n]/, 1)[0] ?? '';
  const separator = /^(?:\u00EF\u00BB\u00BF)?MSH(.)/.exec(header)?.[1];
  return separator === undefined ? '' : (header.split(separator)[17] ?? '');
}
