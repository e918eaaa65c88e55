import type { FastifyInstance, FastifyRequest } from 'fastify';
import { decodeJwt, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { SCOPES } from '../../../contract/scope.ts';
import { BatchedLookUp } from '../../../lib/batches.ts';
import { ExchangeError } from '../../platform/errors.ts';
import { type Caller, callerOf } from '../../platform/http/caller.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import {
  AGENT_METADATA_PATH,
  isAgentUrl,
} from '../../platform/http/operation-outcome.ts';
import { countRequest } from '../../platform/http/plugins/request-share.ts';
import { findAccount } from '../accounts/account-store.ts';
import { createKeyCheck, type KeyCheck } from '../accounts/key-check.ts';
import { parseApiKey } from '../accounts/rules/api-key.ts';
import {
  createEmbedTokenCheck,
  EMBED_AUDIENCE,
} from '../embed-tokens/embed-token.ts';
import {
  FHIR_AUDIENCE,
  verifyAccessToken,
} from '../fhir-clients/access-token.ts';
import { findClientAccounts } from '../fhir-clients/client-store.ts';

/** The owner of a known key or token that has been revoked or has expired. */
interface RejectedCaller {
  accountId: string;
  actor: string;
  why: 'revoked' | 'expired';
}

/**
 * Audience of the tokens with which our own orchestrator acts for an account.
 */
export const INTERNAL_AUDIENCE = 'exchange-internal';
/**
 * How long the account of an internal token is cached; changed settings take
 * effect after this time.
 */
const CACHE_MS = 5_000;
const CACHE_ENTRIES_MAX = 10_000;

/**
 * `internalTokenKey` signs internal tokens (HS256): `sub` is the account id,
 * `aud` is INTERNAL_AUDIENCE, `exp` is required.
 */
export interface AuthOptions
  extends Pick<
    GatewayPlatform,
    'store' | 'internalTokenKey' | 'publicBaseUrl'
  > {
  /** Default: a check that queries the database for every request. */
  keys?: KeyCheck;
}

/**
 * Rejects requests with 401 unless they carry a valid API key (`x-api-key`, or
 * as bearer token), internal token, or embed token (E1).
 */
export function addAuthentication(
  app: FastifyInstance,
  options: AuthOptions,
): void {
  const authenticate = createAuthenticator(options);
  app.addHook('onRequest', async (request) => {
    const caller = await authenticate(request);
    if (caller === undefined) {
      request.refusalNotes = {
        why: hasCredentials(request) ? 'unknown' : 'missing',
      };
      throw unauthorized(request, options.publicBaseUrl);
    }
    if ('why' in caller) {
      const { why, ...by } = caller;
      request.refusalNotes = { by, why };
      throw unauthorized(request, options.publicBaseUrl);
    }
    request.caller = caller;
  });
}

function createAuthenticator({
  store,
  internalTokenKey,
  keys = createKeyCheck(store),
}: Omit<AuthOptions, 'publicBaseUrl'>) {
  const embedTokens = createEmbedTokenCheck({ store, keys, internalTokenKey });
  const cache = new LRUCache<string, Caller | 'unknown'>({
    ttl: CACHE_MS,
    max: CACHE_ENTRIES_MAX,
  });
  const signingKey = new TextEncoder().encode(internalTokenKey);

  const pending = new Map<string, Promise<Caller | undefined>>();

  /** Caches the result of a look-up; concurrent requests share it. */
  const cached = async (
    key: string,
    find: () => Promise<Caller | undefined>,
  ) => {
    const known = cache.get(key);
    if (known !== undefined) return known === 'unknown' ? undefined : known;
    const finding =
      pending.get(key) ?? find().finally(() => pending.delete(key));
    pending.set(key, finding);
    const found = await finding;
    cache.set(key, found ?? 'unknown');
    return found;
  };

  const byApiKey = async (
    apiKey: string,
  ): Promise<Caller | RejectedCaller | undefined> => {
    const parts = parseApiKey(apiKey);
    if (parts === undefined) return undefined;
    const holder = await keys.byHash(parts.hash);
    if (holder === undefined) return undefined;
    const { state, account, keyId, scopes } = holder;
    const actor = `key:${keyId}`;
    if (state !== 'good') return { accountId: account.id, actor, why: state };
    return { account, actor, keyId, scopes };
  };

  const byInternalToken = async (
    token: string,
  ): Promise<Caller | undefined> => {
    const accountId = await accountOfToken(token, signingKey);
    if (accountId === undefined) return undefined;
    return cached(`account:${accountId}`, async () => {
      const account = await store.asSystem((tx) => findAccount(tx, accountId));
      return account && { account, actor: 'internal', scopes: SCOPES };
    });
  };

  const byEmbedToken = async (
    text: string,
  ): Promise<Caller | RejectedCaller | undefined> => {
    const known = await embedTokens.byToken(text);
    if (known === undefined) return undefined;
    const { token: embedToken, state } = known;
    const actor = `embed:${embedToken.tokenId}`;
    if (state !== 'good')
      return { accountId: embedToken.accountId, actor, why: state };
    const { account, keyId } = known.holder;
    return { account, keyId, actor, scopes: ['read'], embedToken };
  };

  const clients = new BatchedLookUp((ids) =>
    store.asSystem((tx) => findClientAccounts(tx, ids)),
  );

  /**
   * Like keys, clients are looked up for every request, so that a revocation
   * takes effect with its commit.
   */
  const byAccessToken = async (
    text: string,
  ): Promise<Caller | RejectedCaller | undefined> => {
    const token = await verifyAccessToken(internalTokenKey, text);
    if (token === undefined) return undefined;
    const { clientId, accountId, scopes: fhirScopes } = token;
    const actor = `client:${clientId}`;
    const client = await clients.get(clientId);
    if (client?.account.id !== accountId)
      return { accountId, actor, why: 'revoked' };
    return { ...client, actor, scopes: ['read'], fhirScopes };
  };

  return async (
    request: FastifyRequest,
  ): Promise<Caller | RejectedCaller | undefined> => {
    const apiKey = request.headers['x-api-key'];
    if (typeof apiKey === 'string') return byApiKey(apiKey);
    const bearer = /^Bearer ([\w.-]+)$/i.exec(
      request.headers.authorization ?? '',
    )?.[1];
    if (bearer === undefined) return undefined;
    // Standard FHIR clients can send a key only like this.
    if (parseApiKey(bearer) !== undefined) return byApiKey(bearer);
    switch (audienceOf(bearer)) {
      case EMBED_AUDIENCE:
        return byEmbedToken(bearer);
      case FHIR_AUDIENCE:
        return byAccessToken(bearer);
      default:
        return byInternalToken(bearer);
    }
  };
}

/**
 * The audience that the token claims. Its signature is verified later in any
 * case.
 */
function audienceOf(token: string): unknown {
  try {
    return decodeJwt(token).aud;
  } catch {
    return undefined;
  }
}

async function accountOfToken(
  token: string,
  signingKey: Uint8Array,
): Promise<string | undefined> {
  try {
    const { payload } = await jwtVerify(token, signingKey, {
      algorithms: ['HS256'],
      audience: INTERNAL_AUDIENCE,
      requiredClaims: ['exp', 'sub'],
    });
    return /^[0-9a-f-]{36}$/.test(payload.sub ?? '') ? payload.sub : undefined;
  } catch {
    return undefined;
  }
}

const hasCredentials = ({ headers }: FastifyRequest): boolean =>
  (headers['x-api-key'] ?? headers.authorization) !== undefined;

const REALM = 'realm="medical-data-exchange"';

function unauthorized(
  request: FastifyRequest,
  publicBaseUrl: string,
): ExchangeError {
  const { 'x-api-key': apiKey, authorization } = request.headers;
  const message =
    apiKey !== undefined
      ? 'The API key is not valid'
      : authorization !== undefined
        ? 'The bearer token is invalid or has expired'
        : 'Authentication is required: send your API key in the header x-api-key';
  // An agent's client looks there for where to get a token (RFC 9728).
  const schemes = isAgentUrl(request.url)
    ? `Bearer ${REALM}, resource_metadata="${publicBaseUrl}${AGENT_METADATA_PATH}"`
    : `ApiKey ${REALM}, Bearer ${REALM}`;
  return new ExchangeError(401, message, {
    headers: { 'www-authenticate': schemes },
  });
}

/** The callers of API keys that were valid lately, by the hash of the key. */
type KnownKeys = LRUCache<string, { accountId: string; actor: string }>;

export const createKnownKeys = (): KnownKeys => new LRUCache({ max: 10_000 });

/**
 * Rejects requests of an account that has no place left before their key is
 * looked up, if it was valid lately: what is refused then costs no statement.
 * Whether the key still is valid matters only for requests that are served.
 */
export function shedKnownKeys(
  app: FastifyInstance,
  knownKeys: KnownKeys,
): void {
  app.addHook('onRequest', async (request) => {
    const by = knownKeys.get(callerKey(request) ?? '');
    const refusal = by && request.server.requestShares.refusal(by.accountId);
    if (refusal === undefined) return;
    request.refusalNotes = { by };
    throw refusal;
  });
}

/** The hash of the API key in the usual header. */
function callerKey({ headers }: FastifyRequest): string | undefined {
  const apiKey = headers['x-api-key'];
  return typeof apiKey === 'string'
    ? parseApiKey(apiKey)?.hash.toString('hex')
    : undefined;
}

/**
 * Rejects requests beyond the account's share with 503, right after
 * authentication and before rate limits, body and transaction use further
 * resources.
 */
export function addRequestShare(
  app: FastifyInstance,
  knownKeys: KnownKeys,
): void {
  app.addHook('onRequest', async (request, reply) => {
    const { account, actor } = callerOf(request);
    const key = callerKey(request);
    if (key !== undefined) knownKeys.set(key, { accountId: account.id, actor });
    countRequest(request, reply, account.id);
  });
}
