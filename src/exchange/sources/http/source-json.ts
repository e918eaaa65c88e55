import { parseFhirJson } from '../../../lib/written-decimals.ts';

/** Deeper than any FHIR resource, but shallow enough for our recursive functions. */
const LEVELS_MAX = 1_000;

export type SourceJson = { isRead: true; json: unknown } | { isRead: false; fault: string };

/** Parses JSON from a source. On failure, `fault` describes the problem for a message, such as `broken JSON`. */
export function readSourceJson(bytes: Buffer): SourceJson {
  // Checked before parsing: deeper nesting overflows the stack, in JSON.parse or in later code.
  if (!isWithinLevels(bytes))
    return { isRead: false, fault: `JSON nested more than ${LEVELS_MAX} levels deep` };
  try {
    return { isRead: true, json: parseFhirJson(bytes.toString('utf8')) };
  } catch {
    return { isRead: false, fault: 'broken JSON' };
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/** One pass over the bytes; string contents, which make up most of them, are skipped. */
function isWithinLevels(bytes: Buffer): boolean {
  let levels = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    switch (bytes[index]) {
      case QUOTE:
        index = endOfString(bytes, index);
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        levels += 1;
        if (levels > LEVELS_MAX) return false;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        levels -= 1;
        break;
    }
  }
  return true;
}

/** The index of the quote that closes the string; the last index when it is not closed. */
export function endOfString(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1);
  while (end !== -1 && isEscaped(bytes, end)) end = bytes.indexOf(QUOTE, end + 1);
  return end === -1 ? bytes.length - 1 : end;
}

function isEscaped(bytes: Buffer, quote: number): boolean {
  let backslashes = 0;
  while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
