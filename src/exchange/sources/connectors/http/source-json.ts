import { parseFhirJson, writtenIn } from '../../../../lib/written-decimals.ts';

/** Deeper than any FHIR resource, but shallow enough for our recursive functions. */
const LEVELS_MAX = 1_000;

export type SourceJson = { isRead: true; json: unknown } | { isRead: false; fault: string };

/** Parses JSON from a source. On failure, `fault` describes the problem for a message, such as `broken JSON`. */
export function readSourceJson(bytes: Buffer): SourceJson {
  // Checked before parsing: deeper nesting overflows the stack, in JSON.parse or in later code.
  const memberCount = countMembers(bytes);
  if (memberCount === undefined)
    return { isRead: false, fault: `JSON nested more than ${LEVELS_MAX} levels deep` };
  try {
    const json = parseFhirJson(bytes.toString('utf8'));
    // JSON.parse keeps the last of two equal names, other parsers the first: nobody knows which one the source means.
    if (membersIn(json) !== memberCount) return { isRead: false, fault: 'JSON that names an element twice' };
    return { isRead: true, json };
  } catch {
    return { isRead: false, fault: 'broken JSON' };
  }
}

/** Without what `parseFhirJson` adds. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const item of value) count += membersIn(item);
  else
    for (const item of Object.values(value)) if (writtenIn(item) === undefined) count += 1 + membersIn(item);
  return count;
}

const [QUOTE, BACKSLASH, COLON] = [0x22, 0x5c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d];

/**
 * The number of members of all objects; undefined if they are nested too deeply. One pass over the bytes; string contents, which make
 * up most of them, are skipped.
 */
function countMembers(bytes: Buffer): number | undefined {
  let [levels, members] = [0, 0];
  for (let index = 0; index < bytes.length; index += 1) {
    switch (bytes[index]) {
      case QUOTE:
        index = endOfString(bytes, index);
        break;
      case COLON:
        members += 1;
        break;
      case OPEN_OBJECT:
      case OPEN_LIST:
        levels += 1;
        if (levels > LEVELS_MAX) return undefined;
        break;
      case CLOSE_OBJECT:
      case CLOSE_LIST:
        levels -= 1;
        break;
    }
  }
  return members;
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
