import { isUtf8 } from 'node:buffer';
import type { Socket } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { hugeNumberIn, IS_HUGE } from '../../../lib/huge-numbers.ts';
import { ExchangeError, InvalidRequestError } from '../errors.ts';
import { PROBLEM_JSON, toErrorResponse, withAddress } from './errors.ts';

/**
 * Sends an error response for a request that Node's HTTP parser rejects, in the
 * same form as all other errors.
 */
export const respondToClientErrors =
  (publicBaseUrl: string) =>
  (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy(error);
      return;
    }
    const { status, body } = toErrorResponse(errorOf(error.code), uuidv7());
    const text = JSON.stringify(withAddress(body, publicBaseUrl));
    socket.end(
      [
        `HTTP/1.1 ${status} ${body.title}`,
        `content-type: ${PROBLEM_JSON}`,
        `content-length: ${Buffer.byteLength(text)}`,
        'connection: close',
        '',
        text,
      ].join('\r\n'),
      () => socket.destroy(),
    );
  };

function errorOf(code: string | undefined): ExchangeError {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new ExchangeError(431, 'The request headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new ExchangeError(408, 'The request was not received in time');
    default:
      return unreadable('The request is not valid HTTP');
  }
}

const unreadable = (message: string): ExchangeError =>
  new ExchangeError(400, message, { code: 'unreadable-request' });

/** In UTF-8, a lone surrogate can occur only as a JSON escape. */
const ESCAPED_SURROGATE = /\\ud[89a-f]/i;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Whether a text in a JSON body contains a lone surrogate (half of a surrogate
 * pair). It cannot be encoded in UTF-8: PostgreSQL rejects it in jsonb and
 * replaces it elsewhere.
 *
 * @param text the body as received
 * @param value the parsed body
 */
function hasHalfCharacter(text: string, value: unknown): boolean {
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

/**
 * The error for a body that Fastify's parser refused: it refuses members that
 * could change an object's prototype, too.
 */
function unreadableBody(body: string, error: Error): Error {
  try {
    JSON.parse(body);
  } catch {
    return error;
  }
  return unreadable(
    'The body has a member named __proto__, or one named constructor with a member prototype; neither is allowed',
  );
}

/**
 * Reads bodies of JSON; an empty one is undefined. Text of another encoding,
 * half a character, prototypes and numbers that nobody can store are a 400.
 */
export function jsonParser(app: FastifyInstance) {
  const parse = app.getDefaultJsonParser('error', 'error');
  return (
    request: FastifyRequest,
    bytes: Buffer,
    done: (error: Error | null, json?: unknown) => void,
  ) => {
    if (!isUtf8(bytes))
      return done(unreadable('The body is not UTF-8; send JSON in UTF-8'));
    const text = bytes.toString();
    if (text === '') return done(null);
    void parse(request, text, (error, value) => {
      if (error !== null) return done(unreadableBody(text, error));
      const what =
        'A text in the body contains half of a surrogate pair, which is not a character';
      if (hasHalfCharacter(text, value)) return done(unreadable(what));
      const path = hugeNumberIn(text, value);
      if (path !== undefined)
        return done(new InvalidRequestError([{ path, message: IS_HUGE }]));
      done(null, value);
    });
  };
}
