import { ExchangeError } from '../errors.ts';

/** Only as an escape half of a surrogate pair gets through UTF-8. */
const ESCAPED_SURROGATE = /\\ud[89a-f]/i;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Whether a text of a JSON body has half of a character: no UTF-8 can hold it, so PostgreSQL refuses it in jsonb and
 * replaces it elsewhere.
 *
 * @param text the body as it came
 */
export function hasHalfCharacter(text: string, value: unknown): boolean {
  if (!ESCAPED_SURROGATE.test(text)) return false;
  // No recursion: a body may be nested as deep as it is long.
  const waiting: unknown[] = [value];
  while (waiting.length > 0) {
    const part = waiting.pop();
    if (typeof part === 'string' && LONE_SURROGATE.test(part)) return true;
    if (part !== null && typeof part === 'object')
      for (const [key, child] of Object.entries(part)) waiting.push(key, child);
  }
  return false;
}

export const halfCharacter = (): ExchangeError =>
  new ExchangeError(400, 'A text of the body has half of a surrogate pair, which is no character');
