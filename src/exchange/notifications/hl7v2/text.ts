const START_BLOCK = 0x0b;
const END_BLOCK = 0x1c;

/**
 * Decodes an HL7 v2 message received over HTTP: removes the MLLP frame if an interface engine left it on, and uses the
 * character set of MSH-18. Without one, the text is UTF-8 if valid, otherwise Latin-1.
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

/** MSH-18, read before decoding: the header's separators are the same bytes in every supported character set. */
function charsetOf(latin: string): string {
  const header = latin.split(/[\r\n]/, 1)[0] ?? '';
  const separator = /^(?:\u00EF\u00BB\u00BF)?MSH(.)/.exec(header)?.[1];
  return separator === undefined ? '' : (header.split(separator)[17] ?? '');
}
