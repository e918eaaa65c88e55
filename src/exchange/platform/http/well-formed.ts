import { ExchangeError } from '../errors.ts';

/** In UTF-8, a lone surrogate can occur only as a JSON escape. */
const ESCAPED_SURROGATE = /\\ud[89a-f]/i;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Whether a text in a JSON body contains a lone surrogate (half of a surrogate pair). It cannot be encoded in UTF-8:
 * PostgreSQL rejects it in jsonb and replaces it elsewhere.
 *
 * @param text the body as received
 * @param value the parsed body
 */
export function hasHalfCharacter(text: string, value: unknown): boolean {
  if (!ESCAPED_SURROGATE.test(text)) return false;
  // Not recursive, because a body can be nested arbitrarily deep.
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
  new ExchangeError(400, 'A text in the body contains half of a surrogate pair, which is not a character');

/** The error for a body that Fastify's parser refused: it refuses members that could change an object's prototype, too. */
export function unreadableBody(body: string, error: Error): Error {
  try {
    JSON.parse(body);
  } catch {
    return error;
  }
  return new ExchangeError(
    400,
    'The body has a member named __proto__, or one named constructor with a member prototype; neither is allowed',
  );
}
