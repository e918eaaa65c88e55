import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { type Dispatcher, request } from 'undici';
import { ConfigError } from '../../../config.ts';
import { anySignal } from '../../../lib/abort-signals.ts';
import { retryAfterMs } from '../../../lib/retry-after.ts';
import { traceHeaders } from '../../../lib/tracing/spans.ts';

/**
 * A partner's base URL, and the key with which both sides sign (Standard
 * Webhooks: `whsec_…`).
 */
export interface PartnerConfig {
  baseUrl: string;
  secret: string;
}

/**
 * A failed request to a partner. `transport`: it can be retried. `refused`:
 * retrying is useless. `bad-answer`: the response could not be parsed. The
 * message names the request and the status, and contains nothing of either
 * body.
 */
export class PartnerFailure extends Error {
  override readonly name = 'PartnerFailure';

  readonly kind: 'transport' | 'refused' | 'bad-answer';
  readonly options: {
    httpStatus?: number;
    retryAfterMs?: number;
    cause?: unknown;
  };

  constructor(
    kind: 'transport' | 'refused' | 'bad-answer',
    message: string,
    options: {
      httpStatus?: number;
      retryAfterMs?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.kind = kind;
    this.options = options;
  }
}

const RESPONSE_BYTES_MAX = 64 * 1024;

/**
 * @param name the partner's name in messages, such as `identity partner`.
 *   Throws if the secret is not a valid key.
 */
export function createPartnerHttp(
  name: string,
  { baseUrl, secret }: PartnerConfig,
) {
  const signer = new Webhook(secret);
  return {
    /**
     * Makes a signed request and returns the JSON of the response. Throws
     * PartnerFailure.
     */
    async call(
      method: 'GET' | 'POST',
      path: string,
      {
        body,
        signal,
        timeoutMs = 10_000,
      }: { body?: object; signal?: AbortSignal; timeoutMs?: number } = {},
    ): Promise<unknown> {
      const label = `${method} ${path.split('/')[1] ?? ''}`;
      const text = body && JSON.stringify(body);
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const response = await request(`${baseUrl}${path}`, {
          method,
          headers: {
            ...traceHeaders(),
            accept: 'application/json',
            ...contentTypeOf(text),
            ...signatureOf(signer, text ?? ''),
          },
          body: text,
          signal: anySignal([timeout, ...(signal ? [signal] : [])]),
        });
        const responseText = await textOf(response.body);
        if (response.statusCode >= 400)
          throw refusedCall(name, label, response);
        return JSON.parse(responseText);
      } catch (error) {
        if (error instanceof PartnerFailure) throw error;
        if (signal?.aborted) throw signal.reason;
        throw brokenCall(name, label, error);
      }
    },
  };
}

const contentTypeOf = (text: string | undefined) =>
  text === undefined ? {} : { 'content-type': 'application/json' };

/** The failure of a call that the partner answered with 400 or above. */
function refusedCall(
  name: string,
  label: string,
  { statusCode, headers }: Dispatcher.ResponseData,
): PartnerFailure {
  const mayPass = statusCode === 408 || statusCode === 429 || statusCode >= 500;
  return new PartnerFailure(
    mayPass ? 'transport' : 'refused',
    `The ${name} responded ${statusCode} to ${label}`,
    {
      httpStatus: statusCode,
      retryAfterMs: retryAfterMs(headers['retry-after']),
    },
  );
}

/** The failure of a call without a response that can be read. */
function brokenCall(
  name: string,
  label: string,
  error: unknown,
): PartnerFailure {
  return error instanceof SyntaxError
    ? new PartnerFailure(
        'bad-answer',
        `The ${name} returned an unreadable response to ${label}`,
      )
    : new PartnerFailure(
        'transport',
        `The ${name} could not be reached for ${label}`,
        { cause: error },
      );
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
    if (sizeBytes > RESPONSE_BYTES_MAX)
      throw new SyntaxError('the response is too large');
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString('utf8');
}

/**
 * The configuration of a partner, or undefined if none is set. Throws
 * ConfigError if only one of its two variables is set.
 */
export function partnerConfig(
  prefix: string,
  baseUrl: string | undefined,
  secret: string | undefined,
): PartnerConfig | undefined {
  if (baseUrl === undefined && secret === undefined) return undefined;
  if (baseUrl !== undefined && secret !== undefined) return { baseUrl, secret };
  throw new ConfigError(
    `${prefix}_BASE_URL and ${prefix}_SECRET: set both, or neither`,
  );
}
