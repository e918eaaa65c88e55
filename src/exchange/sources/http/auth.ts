import type { Dispatcher } from 'undici';
import { request } from 'undici';
import { z } from 'zod';
import { SourceFailure } from '../connector.ts';
import type { ResolvedSourceConfig, SourceAuth } from '../source-config.ts';
import { badResponse, failureOfTokenRequest, parseRetryAfter } from './failures.ts';

export interface TokenProvider {
  /** The value of the Authorization header, or undefined when the source needs none. */
  authorization(): Promise<string | undefined>;
  /** Discards a token that the source rejected; returns whether a new one can be requested. */
  invalidate(authorization: string): boolean;
}

const tokenSchema = z.object({
  access_token: z.string().min(1),
  expires_in: z.coerce.number().positive().optional(),
});

const RENEW_BEFORE_MS = 30_000;
const TOKEN_LIFE_DEFAULT_MS = 300_000;
const TOKEN_RESPONSE_BYTES_MAX = 100_000;

export function createTokenProvider(
  config: ResolvedSourceConfig,
  dispatcher: Dispatcher,
  now: () => number,
): TokenProvider {
  const { auth } = config;
  if (auth.kind === 'none') return fixed(undefined);
  if (auth.kind === 'bearer') return fixed(`Bearer ${auth.token}`);

  let current: { authorization: string; renewAtMs: number } | undefined;
  let fetching: Promise<string> | undefined;

  async function fetchToken(credentials: ClientCredentials): Promise<string> {
    const token = await requestToken(config, credentials, dispatcher, now);
    const lifeMs = token.expires_in === undefined ? TOKEN_LIFE_DEFAULT_MS : token.expires_in * 1_000;
    const authorization = `Bearer ${token.access_token}`;
    // Short-lived tokens are renewed at half their lifetime; otherwise each request would fetch one.
    current = { authorization, renewAtMs: now() + Math.max(lifeMs - RENEW_BEFORE_MS, lifeMs / 2) };
    return authorization;
  }

  return {
    async authorization() {
      if (current !== undefined && now() < current.renewAtMs) return current.authorization;
      // Queries that start at the same time share one token request.
      fetching ??= fetchToken(auth).finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    invalidate(authorization) {
      if (current?.authorization === authorization) current = undefined;
      return true;
    },
  };
}

type ClientCredentials = Extract<SourceAuth, { kind: 'client-credentials' }>;

/** OAuth 2 client credentials (RFC 6749, 4.4), the client authenticated by HTTP Basic (2.3.1). */
async function requestToken(
  config: ResolvedSourceConfig,
  credentials: ClientCredentials,
  dispatcher: Dispatcher,
  now: () => number,
): Promise<z.infer<typeof tokenSchema>> {
  const { source } = config;
  const label = 'the token request';
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (credentials.scope !== undefined) form.set('scope', credentials.scope);
  const login = `${encodeURIComponent(credentials.clientId)}:${encodeURIComponent(credentials.clientSecret)}`;
  let status: number;
  let text: string;
  let retryAfterMs: number | undefined;
  try {
    const response = await request(credentials.tokenUrl, {
      method: 'POST',
      dispatcher,
      headers: {
        accept: 'application/json',
        authorization: `Basic ${Buffer.from(login).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: form.toString(),
      signal: AbortSignal.timeout(config.requestTimeoutMs),
    });
    status = response.statusCode;
    const retryAfter = response.headers['retry-after'];
    retryAfterMs = parseRetryAfter(typeof retryAfter === 'string' ? retryAfter : undefined, now());
    text = await readLimited(response.body, TOKEN_RESPONSE_BYTES_MAX);
  } catch (cause) {
    throw new SourceFailure('transport', `${source} did not answer ${label}`, { cause });
  }
  if (status !== 200) throw failureOfTokenRequest(source, label, { status, retryAfterMs });
  const token = tokenSchema.safeParse(parseJson(text));
  if (!token.success) throw badResponse(source, `answered ${label} without a token`);
  return token.data;
}

async function readLimited(body: AsyncIterable<Buffer>, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of body) {
    sizeBytes += chunk.length;
    if (sizeBytes > bytesMax) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fixed(authorization: string | undefined): TokenProvider {
  return { authorization: async () => authorization, invalidate: () => false };
}
