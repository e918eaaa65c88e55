import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import { badResponse, failureOfTokenRequest, isRecord, parseRetryAfter } from '../failures.ts';
import { tlsFailure } from '../tls.ts';
import { missingScopes } from './missing-scopes.ts';
import { oauthErrorOf } from './oauth-errors.ts';
import type { IssuedToken } from './shared-tokens.ts';

const tokenSchema = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().optional(),
  scope: z.string().optional(),
});

const LABEL = 'the token request';
const RENEW_BEFORE_MS = 30_000;
const TOKEN_LIFE_DEFAULT_MS = 300_000;
const RESPONSE_BYTES_MAX = 100_000;

export interface TokenEndpoint {
  /** Requests a token. Throws only SourceFailure; `TokenRefused` when the server rejects the request. */
  request(url: string, form: URLSearchParams, headers?: Record<string, string>): Promise<IssuedToken>;
}

/** The server rejects our token request. Its OAuth error code is part of the message; its description is not. */
export class TokenRefused extends SourceFailure {
  constructor(
    failure: SourceFailure,
    readonly code: string | undefined,
    /** How far the server's clock is ahead of ours; undefined when it does not say. */
    readonly clockAheadMs: number | undefined,
  ) {
    super(failure.kind, failure.message, failure.options);
  }
}

export function createTokenEndpoint(
  config: ResolvedSourceConfig,
  { dispatcher, now }: { dispatcher: Dispatcher; now: () => number },
): TokenEndpoint {
  const { source } = config;
  return {
    async request(url, form, headers = {}) {
      const { status, json, retryAfterMs, clockAheadMs } = await post(url, form, headers);
      if (status !== 200) {
        const { code, issueCode } = oauthErrorOf(json);
        const failure = failureOfTokenRequest(source, LABEL, { status, retryAfterMs, issueCode });
        throw new TokenRefused(failure, code, clockAheadMs);
      }
      const token = tokenSchema.safeParse(json);
      if (!token.success) throw badResponse(source, `answered ${LABEL} without a token`);
      const missing = missingScopes(form.get('scope') ?? '', token.data.scope);
      return { ...issued(token.data, now()), ...(missing.length === 0 ? {} : { missingScopes: missing }) };
    },
  };

  async function post(url: string, form: URLSearchParams, headers: Record<string, string>) {
    try {
      const response = await request(url, {
        method: 'POST',
        dispatcher,
        headers: {
          ...headers,
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: form.toString(),
        signal: AbortSignal.timeout(config.requestTimeoutMs),
      });
      const header = (name: string) => {
        const value = response.headers[name];
        return typeof value === 'string' ? value : undefined;
      };
      const aheadMs = Date.parse(header('date') ?? '') - now();
      return {
        status: response.statusCode,
        retryAfterMs: parseRetryAfter(header('retry-after'), now()),
        clockAheadMs: Number.isNaN(aheadMs) ? undefined : aheadMs,
        json: parseJson(await readLimited(response.body)),
      };
    } catch (cause) {
      throw (
        tlsFailure(config, LABEL, cause) ??
        new SourceFailure('transport', `${source} did not answer ${LABEL}`, { cause })
      );
    }
  }
}

/** Short-lived tokens are renewed at half their lifetime; otherwise each request would fetch one. */
function issued({ access_token, expires_in }: z.infer<typeof tokenSchema>, nowMs: number): IssuedToken {
  const lifeMs = expires_in === undefined ? TOKEN_LIFE_DEFAULT_MS : expires_in * 1_000;
  return {
    authorization: `Bearer ${access_token}`,
    renewAtMs: nowMs + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2),
    endsAtMs: nowMs + lifeMs,
  };
}

async function readLimited(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > RESPONSE_BYTES_MAX) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): Record<string, unknown> {
  try {
    const json: unknown = JSON.parse(text);
    return isRecord(json) ? json : {};
  } catch {
    return {};
  }
}
