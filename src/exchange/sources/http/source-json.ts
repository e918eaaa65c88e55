/** Far deeper than any FHIR resource, and shallow enough for every function that walks through one. */
const LEVELS_MAX = 1_000;

export type SourceJson = { isRead: true; json: unknown } | { isRead: false; fault: string };

/** Reads JSON of a source; else says what is wrong with it: `broken JSON`. */
export function readSourceJson(bytes: Buffer): SourceJson {
  // Measured before it is read: what is nested deeper overflows the stack, here or anywhere after.
  if (!isWithinLevels(bytes))
    return { isRead: false, fault: `JSON nested more than ${LEVELS_MAX} levels deep` };
  try {
    return { isRead: true, json: JSON.parse(bytes.toString('utf8')) };
  } catch {
    return { isRead: false, fault: 'broken JSON' };
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/** One pass over the bytes; texts, which are most of them, are jumped over. */
function isWithinLevels(bytes: Buffer): boolean {
  let levels = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    switch (bytes[index]) {
      case QUOTE:
        index = endOfText(bytes, index);
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

/** The place of the quote that closes the text; the last byte when none does. */
function endOfText(bytes: Buffer, start: number): number {
  let end = bytes.indexOf(QUOTE, start + 1);
  while (end !== -1 && isEscaped(bytes, end)) end = bytes.indexOf(QUOTE, end + 1);
  return end === -1 ? bytes.length - 1 : end;
}

function isEscaped(bytes: Buffer, quote: number): boolean {
  let backslashes = 0;
  while (bytes[quote - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
