import { stripVTControlCharacters } from 'node:util';

const LENGTH_MAX = 200;

/** Makes text from outside safe for a terminal: one line, no control sequences, at most 200 characters. */
export function plainText(text: string): string {
  const oneLine = stripVTControlCharacters(text)
    .replaceAll(/\p{C}+|\s+/gu, ' ')
    .trim();
  return oneLine.length > LENGTH_MAX ? `${oneLine.slice(0, LENGTH_MAX - 1)}…` : oneLine;
}
