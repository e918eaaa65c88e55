const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes text for elements and quoted attributes; removes control characters
 * that HTML does not allow.
 */
export const escapeHtml = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are removed
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, '')
    .replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? '');

const LENGTH_MAX = 200;

/**
 * Text of a caller as Markdown that shows it as it is: one line, set as code,
 * at most 200 characters.
 */
export function asCode(text: string): string {
  const oneLine = text
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .replaceAll('`', '’')
    .trim();
  return `\`${oneLine.length > LENGTH_MAX ? `${oneLine.slice(0, LENGTH_MAX - 1)}…` : oneLine}\``;
}
