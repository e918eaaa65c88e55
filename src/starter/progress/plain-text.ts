import { stripVTControlCharacters } from 'node:util';

/** Messages end with what to do, so they must fit whole. */
const LENGTH_MAX = 500;

/**
 * Makes text from outside safe for a terminal: one line, no control sequences,
 * at most `lengthMax` characters.
 */
export function terminalText(text: string, lengthMax = LENGTH_MAX): string {
  const oneLine = stripVTControlCharacters(text)
    .replaceAll(/\p{C}+|\s+/gu, ' ')
    .trim();
  return oneLine.length > lengthMax
    ? `${oneLine.slice(0, lengthMax - 1)}…`
    : oneLine;
}
