import { stripVTControlCharacters } from 'node:util';

const LENGTH_MAX = 200;

/** Text of others for a terminal: one line, no control sequences, bounded. */
export function plainText(text: string): string {
  const oneLine = stripVTControlCharacters(text)
    .replaceAll(/\p{C}+|\s+/gu, ' ')
    .trim();
  return oneLine.length > LENGTH_MAX ? `${oneLine.slice(0, LENGTH_MAX - 1)}…` : oneLine;
}
