import type { ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { withoutHops } from '../../lib/hop-by-hop.ts';
import { detailOf, isPostponed, type Refused } from './refusals.ts';
import type { Answer } from './send.ts';

/** What is longer than this is passed on without being read. */
const REFUSAL_BYTES_MAX = 64 * 1024;

/** Passes an answer on. Returns how it refuses the request, if it does. Rejects when the client leaves. */
export async function passAnswer(
  answer: Answer,
  reply: ServerResponse,
  client: AbortSignal,
): Promise<Refused | undefined> {
  const { response, body } = await readRefusal(answer);
  const { statusCode: status = 502, headers } = response;
  reply.writeHead(status, withoutHops(headers));
  if (body !== undefined) reply.end(body);
  else {
    let isCut = false;
    response.once('error', () => {
      isCut = !client.aborted;
    });
    try {
      await pipeline(response, reply);
    } catch (error) {
      if (!isCut) throw error;
      return { status: 'cut', isPostponed: false };
    }
  }
  return status < 500
    ? undefined
    : { status, detail: detailOf(body), isPostponed: isPostponed(status, headers) };
}

/** Reads what a refusal says, if it is short. */
async function readRefusal({ response, body }: Answer): Promise<Answer> {
  const isShort = Number(response.headers['content-length']) <= REFUSAL_BYTES_MAX;
  if ((response.statusCode ?? 0) < 500 || body !== undefined || !isShort) return { response, body };
  return { response, body: await buffer(response) };
}

/**
 * Answers a request that no gateway has answered: 503 if it may be sent again, 502 if a gateway ended while it worked on it.
 * Returns what was answered.
 */
export function answerInstead(reply: ServerResponse, mayHaveTakenEffect: boolean): Refused {
  const problem = mayHaveTakenEffect
    ? {
        status: 502,
        name: 'BAD_GATEWAY',
        title: 'Bad gateway',
        detail:
          'The gateway ended before it had answered, and the request may have taken effect. Look before you send it again; with an Idempotency-Key it is sent again by itself.',
      }
    : {
        status: 503,
        name: 'SERVICE_UNAVAILABLE',
        title: 'Service unavailable',
        detail: 'No gateway is ready. Send the request again in a moment.',
      };
  const headers = {
    'content-type': 'application/problem+json',
    connection: 'close',
    ...(mayHaveTakenEffect ? {} : { 'retry-after': '1' }),
  };
  reply.writeHead(problem.status, headers).end(JSON.stringify({ type: 'about:blank', ...problem }));
  return { status: problem.status, detail: problem.detail, isPostponed: !mayHaveTakenEffect };
}
