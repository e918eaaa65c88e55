import { stripVTControlCharacters } from 'node:util';

/** Messages end with what to do, so they must fit whole. */
const LENGTH_MAX = 500;

/** Makes text from outside safe for a terminal: one line, no control sequences, at most 500 characters. */
export function plainText(text: string): string {
  const oneLine = stripVTControlCharacters(text)
    .replaceAll(/\p{C}+|\s+/gu, ' ')
    .trim();
  return oneLine.length > LENGTH_MAX ? `${oneLine.slice(0, LENGTH_MAX - 1)}…` : oneLine;
}
