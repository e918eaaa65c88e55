import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { request } from 'undici';
import { anySignal } from '../../../lib/any-signal.ts';
import { retryAfterMs } from '../../../lib/retry-after.ts';
import { timeoutSignal } from '../../../lib/timeout-signal.ts';

/** Where a partner is, and the key that it and we sign with (Standard Webhooks: `whsec_…`). */
export interface PartnerConfig {
  baseUrl: string;
  secret: string;
}

/**
 * What came of a call that failed. transport: it may be made again. refused: again is of no use. bad-answer: it answered
 * something that cannot be read. The message names the call and the status, nothing that was sent or answered.
 */
export class PartnerFailure extends Error {
  override readonly name = 'PartnerFailure';

  constructor(
    readonly kind: 'transport' | 'refused' | 'bad-answer',
    message: string,
    readonly options: { httpStatus?: number; retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
  }
}

export interface PartnerHttp {
  /** Sends JSON (or asks, without a body) and answers the JSON that came. Throws PartnerFailure. */
  call(
    method: 'GET' | 'POST',
    path: string,
    options?: { body?: object; signal?: AbortSignal; timeoutMs?: number },
  ): Promise<unknown>;
}

const ANSWER_BYTES_MAX = 64 * 1024;

/** @param name for messages: `identity partner`. Throws when the secret is no key. */
export function createPartnerHttp(name: string, { baseUrl, secret }: PartnerConfig): PartnerHttp {
  const signer = new Webhook(secret);
  return {
    async call(method, path, { body, signal, timeoutMs = 10_000 } = {}) {
      const label = `${method} ${path.split('/')[1] ?? ''}`;
      const text = body === undefined ? '' : JSON.stringify(body);
      const timeout = timeoutSignal(timeoutMs);
      try {
        const response = await request(`${baseUrl}${path}`, {
          method,
          headers: {
            accept: 'application/json',
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...signatureOf(signer, text),
          },
          body: body === undefined ? undefined : text,
          signal: signal === undefined ? timeout : anySignal([timeout, signal]),
        });
        const answered = await textOf(response.body);
        const { statusCode: status } = response;
        if (status >= 400) {
          throw new PartnerFailure(
            status === 408 || status === 429 || status >= 500 ? 'transport' : 'refused',
            `The ${name} answered ${status} to ${label}`,
            { httpStatus: status, retryAfterMs: retryAfterMs(response.headers['retry-after']) },
          );
        }
        return JSON.parse(answered);
      } catch (error) {
        if (error instanceof PartnerFailure) throw error;
        if (signal?.aborted) throw signal.reason;
        if (error instanceof SyntaxError)
          throw new PartnerFailure('bad-answer', `The ${name} answered ${label} with something unreadable`);
        throw new PartnerFailure('transport', `The ${name} could not be reached for ${label}`, {
          cause: error,
        });
      }
    },
  };
}

function signatureOf(signer: Webhook, body: string): Record<string, string> {
  const id = `msg_${randomUUID()}`;
  const now = new Date();
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
    'webhook-signature': signer.sign(id, now, body),
  };
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const piece of body) {
    sizeBytes += piece.length;
    if (sizeBytes > ANSWER_BYTES_MAX) throw new SyntaxError('an answer of that size is none of ours');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}
