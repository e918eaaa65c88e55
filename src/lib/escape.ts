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

const ESC = String.fromCharCode(27);
/** What a terminal obeys: control characters, and what turns the text around. */
const CONTROLS = new RegExp(
  `(${ESC}\\[(?:[0-4]|2[2-4]|[39][0-7]|39)m)|[\\p{Cc}\\u2028\\u2029\\u202a-\\u202e\\u2066-\\u2069]`,
  'gu',
);

/**
 * Text for a terminal: line breaks, tabs and our colours stay, any other
 * control character is written as its number. Words of strangers must not move
 * the cursor, hide what stands there or change the title of the window.
 */
export const terminalOutput = (text: string): string =>
  text.replaceAll(CONTROLS, (found: string, colour: string | undefined) =>
    colour !== undefined || found === '\n' || found === '\t'
      ? found
      : `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
