import { randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { lookupTable } from '../../../../../lib/lookup-table.ts';
import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import {
  badResponse,
  failureOfTokenRequest,
  isRecord,
  parseRetryAfter,
} from '../failures.ts';
import { HttpExchange, readSourceJson } from '../http-response.ts';
import { tlsFailure } from '../tls.ts';

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
  /**
   * Requests a token. Throws only SourceFailure; `TokenRefused` when the server
   * rejects the request.
   */
  request(
    url: string,
    form: URLSearchParams,
    headers?: Record<string, string>,
  ): Promise<IssuedToken>;
}

/**
 * The server rejects our token request. Its OAuth error code is part of the
 * message; its description is not.
 */
export class TokenRefused extends SourceFailure {
  readonly code: string | undefined;
  /**
   * How far the server's clock is ahead of ours; undefined when it does not
   * say.
   */
  readonly clockAheadMs: number | undefined;

  constructor(
    failure: SourceFailure,
    code: string | undefined,
    clockAheadMs: number | undefined,
  ) {
    super(failure.kind, failure.message, failure.options);
    this.code = code;
    this.clockAheadMs = clockAheadMs;
  }
}

export function createTokenEndpoint(
  config: ResolvedSourceConfig,
  { dispatcher, now }: { dispatcher: Dispatcher; now: () => number },
): TokenEndpoint {
  const { source } = config;
  return {
    async request(url, form, headers = {}) {
      const { status, json, retryAfterMs, clockAheadMs } = await post(
        url,
        form,
        headers,
      );
      if (status !== 200) {
        const { code, issueCode } = oauthErrorOf(json);
        const failure = failureOfTokenRequest(source, LABEL, {
          status,
          retryAfterMs,
          issueCode,
        });
        throw new TokenRefused(failure, code, clockAheadMs);
      }
      const token = tokenSchema.safeParse(json);
      if (!token.success)
        throw badResponse(source, `answered ${LABEL} without a token`);
      const missing = missingScopes(form.get('scope') ?? '', token.data.scope);
      return {
        ...issued(token.data, now()),
        ...(missing.length === 0 ? {} : { missingScopes: missing }),
      };
    },
  };

  async function post(
    url: string,
    form: URLSearchParams,
    headers: Record<string, string>,
  ) {
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
        signal: AbortSignal.timeout(config.requestTimeoutSeconds * 1_000),
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
      if (cause instanceof SourceFailure) throw cause;
      throw (
        tlsFailure(config, LABEL, cause) ??
        new SourceFailure('transport', `${source} did not answer ${LABEL}`, {
          cause,
        })
      );
    }
  }
}

/**
 * Short-lived tokens are renewed at half their lifetime; otherwise each request
 * would fetch one.
 */
function issued(
  { access_token, expires_in }: z.infer<typeof tokenSchema>,
  nowMs: number,
): IssuedToken {
  const lifeMs =
    expires_in === undefined ? TOKEN_LIFE_DEFAULT_MS : expires_in * 1_000;
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

/**
 * OAuth 2 error codes (RFC 6749, 7591, 8707), and what an operator should
 * check. Any other value is not repeated.
 */
const HINTS: Readonly<Record<string, string>> = lookupTable({
  invalid_request: '',
  invalid_client: ': check the client id and its secret or key',
  invalid_grant: ': check the client id and its key',
  unauthorized_client: ': the client may not use client credentials',
  unsupported_grant_type: ': the server does not offer client credentials',
  invalid_scope: ': check the scope',
  invalid_target: '',
  access_denied: '',
  server_error: '',
  temporarily_unavailable: '',
  invalid_client_metadata: '',
  invalid_software_statement: ': check the certificate',
  unapproved_software_statement: ': the server does not accept our certificate',
});

/**
 * The error code of a token response. `error_description` is free text and may
 * contain anything, so it is not used.
 */
export function oauthErrorOf(json: Record<string, unknown>): {
  code?: string;
  issueCode?: string;
} {
  const { error } = json;
  const hint = typeof error === 'string' ? HINTS[error] : undefined;
  if (hint === undefined) return {};
  return { code: String(error), issueCode: `${error}${hint}` };
}

/** Permissions of SMART 1 as those of SMART 2. */
const PERMISSIONS: Readonly<Record<string, string>> = lookupTable({
  read: 'rs',
  write: 'cud',
  '*': 'cruds',
});

/**
 * `system/Patient.rs` as its context, type and the permissions that it
 * includes; SMART 1's read is rs, its write cud.
 */
function parse(
  scope: string,
): { context: string; type: string; permissions: string } | undefined {
  const [, context, type, permission] =
    /^(system|user|patient)\/(\w+|\*)\.(\w+|\*)(?:\?.*)?$/.exec(scope) ?? [];
  if (context === undefined || type === undefined || permission === undefined)
    return undefined;
  const permissions = PERMISSIONS[permission] ?? permission;
  return { context, type, permissions };
}

/**
 * The scopes that were asked for and that the granted ones do not include, in
 * their order. Without an answer (`granted` undefined), OAuth says that all
 * were granted.
 */
export function missingScopes(
  asked: string,
  granted: string | undefined,
): string[] {
  if (granted === undefined) return [];
  const words = granted.split(/\s+/).filter(Boolean);
  const permitted = words.flatMap((word) => parse(word) ?? []);
  return asked
    .split(/\s+/)
    .filter(Boolean)
    .filter((scope) => {
      const wanted = parse(scope);
      if (wanted === undefined || words.includes(scope))
        return !words.includes(scope);
      const covering = permitted.filter(
        ({ context, type }) =>
          context === wanted.context && (type === '*' || type === wanted.type),
      );
      return [...wanted.permissions].some(
        (permission) =>
          !covering.some(({ permissions }) => permissions.includes(permission)),
      );
    });
}

/** The algorithms that SMART Backend Services requires servers to support. */
export const ASSERTION_ALGORITHMS = ['ES384', 'RS384'] as const;
export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number];

export interface AssertionSigner {
  /**
   * Signs claims as a JWT with our current key of one algorithm; its `kid`
   * names the key in our JWKS.
   */
  sign(claims: JWTPayload, algorithm: AssertionAlgorithm): Promise<string>;
}

/**
 * SMART allows five minutes. One less, so that a server whose clock is a minute
 * behind ours does not consider the assertion too long.
 */
const LIFE_SECONDS = 240;

/**
 * The claims of a client assertion (RFC 7523). Each has an id of its own, so
 * that none can be replayed.
 */
export function assertionClaims(
  clientId: string,
  tokenUrl: string,
  nowMs: number,
): JWTPayload {
  const seconds = Math.floor(nowMs / 1_000);
  return {
    iss: clientId,
    sub: clientId,
    aud: tokenUrl,
    jti: randomUUID(),
    iat: seconds,
    exp: seconds + LIFE_SECONDS,
  };
}

/** The form that carries an assertion to the token endpoint. */
export function assertionForm(
  assertion: string,
  scope: string | undefined,
): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type:
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  });
  if (scope !== undefined) form.set('scope', scope);
  return form;
}

const BYTES_MAX = 500_000;

/**
 * Sends a request without a token to a server of the source, and reads a JSON
 * object. Throws only SourceFailure.
 */
export async function requestJson(
  config: ResolvedSourceConfig,
  dispatcher: Dispatcher,
  { url, label, body }: { url: URL; label: string; body?: unknown },
): Promise<{ status: number; json: Record<string, unknown> }> {
  const exchange = new HttpExchange(config, {
    label,
    signal: new AbortController().signal,
  });
  try {
    const raw = await request(url, {
      dispatcher,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      headersTimeout: config.requestTimeoutSeconds * 1_000,
      bodyTimeout: config.requestTimeoutSeconds * 1_000,
      signal: exchange.signal,
    });
    const response = exchange.responded(raw, url, undefined);
    const read = readSourceJson(await response.bytes(BYTES_MAX));
    return {
      status: response.status,
      json: read.isRead && isRecord(read.json) ? read.json : {},
    };
  } catch (error) {
    throw exchange.failed(error);
  }
}

/** What requests for a token need of the process. */
export interface TokenDeps {
  dispatcher: Dispatcher;
  now: () => number;
  /**
   * Signs client assertions; needed for sources that authenticate us by a key.
   */
  signer?: AssertionSigner;
  /**
   * Shares tokens with the other workers. Default: this process has tokens of
   * its own.
   */
  sharedTokens?: SharedTokens;
}

export interface IssuedToken {
  /** The value of the Authorization header. */
  authorization: string;
  renewAtMs: number;
  endsAtMs: number;
  /** Asked for and not granted. */
  missingScopes?: readonly string[];
}

/**
 * Tokens that several workers use together, so that a source is asked for one
 * token and not for one per process.
 */
export interface SharedTokens {
  /**
   * The token of a connection; one worker at a time calls `request` when there
   * is none, or when it is due for renewal.
   */
  obtain(
    config: ResolvedSourceConfig,
    request: () => Promise<IssuedToken>,
  ): Promise<IssuedToken>;
  /**
   * Forgets a token that the source rejected, unless another one has replaced
   * it.
   */
  discard(config: ResolvedSourceConfig, authorization: string): Promise<void>;
}

/** Nothing is shared: each process requests its own tokens. */
export const separateTokens: SharedTokens = {
  obtain: (_config, request) => request(),
  discard: async () => undefined,
};
