import jsTokens from 'js-tokens';

/** How much code there is, whatever its layout. */
export interface Tokens {
  tokens: number;
  /** On which at least one token begins. */
  lines: number;
}

const IS_NO_CODE = /^(?:WhiteSpace|LineTerminatorSequence|\w*Comment)$/;

/**
 * Counts the tokens of TypeScript, JavaScript or JSON. Comments and blank lines
 * are none, and the inside of a template's text is one token.
 */
export function countTokens(source: string): Tokens {
  let line = 1;
  let tokens = 0;
  const lines = new Set<number>();
  for (const { type, value } of jsTokens(source)) {
    if (!IS_NO_CODE.test(type)) {
      tokens += 1;
      lines.add(line);
    }
    line += value.split('\n').length - 1;
  }
  return { tokens, lines: lines.size };
}

/** The words and signs of SQL and CSS, which have other comments. */
export function countWords(source: string): number {
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|--.*$/gm, '');
  return code.match(/[\w$]+|'(?:[^']|'')*'|"[^"]*"|[^\s\w]/g)?.length ?? 0;
}
