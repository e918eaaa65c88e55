const LENGTH_MAX = 200;

/** Text of a caller as Markdown that shows it as it is: one line, set as code, at most 200 characters. */
export function asCode(text: string): string {
  const oneLine = text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replaceAll('`', '’')
    .trim();
  return `\`${oneLine.length > LENGTH_MAX ? `${oneLine.slice(0, LENGTH_MAX - 1)}…` : oneLine}\``;
}
