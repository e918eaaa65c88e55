import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose';
import { LRUCache } from 'lru-cache';
import { findAccount } from '../../access/accounts/account-store.ts';
import {
  ACCESS_TOKEN_SECONDS,
  signAccessToken,
} from '../../access/fhir-clients/access-token.ts';
import {
  findClients,
  type StoredClient,
  useAssertion,
} from '../../access/fhir-clients/client-store.ts';
import {
  createKeyFetch,
  KeysError,
} from '../../access/fhir-clients/fetch-keys.ts';
import {
  grantedScopes,
  parseFhirScope,
  QUERY_SCOPE,
  SUBSCRIPTION_SCOPE,
} from '../../access/fhir-clients/rules/fhir-scopes.ts';
import { insertAuditEntry } from '../../platform/audit/audit-store.ts';
import { type Store, withinAccount } from '../../platform/database/database.ts';
import {
  type DepsOf,
  type Feature,
  type GatewayScopes,
  NOTHING_OPEN,
} from '../../platform/feature.ts';
import {
  type DestinationDeps,
  destinationRules,
  type GatewayPlatform,
} from '../../platform/http/deps.ts';
import { OAuthRefusal } from '../../platform/http/errors.ts';
import {
  AGENT_METADATA_PATH,
  AGENT_PATH,
  FHIR_PATH,
  RESPONDER_PATH,
} from '../../platform/http/operation-outcome.ts';
import { refuseBeyond } from '../../platform/http/plugins/limits.ts';
import { countRequest } from '../../platform/http/plugins/request-share.ts';
import { AccountLimiter } from '../../platform/limits/account-limiter.ts';
import { strangersLookUp } from '../../platform/limits/strangers-look-up.ts';
import type { DestinationRules } from '../../platform/outbox/destination-guard.ts';
import { SERVED_TYPES } from '../../records/rules/resource-types.ts';

/**
 * Clients of the FHIR API with keys of their own: SMART Backend Services
 * (docs/fhir.md).
 */
export const fhirClientsFeature = {
  open: NOTHING_OPEN,
  routes: ({ open }: GatewayScopes, deps: DepsOf<typeof addTokenRoutes>) =>
    open((scope) => addTokenRoutes(scope, deps)),
} satisfies Feature;

const TOKEN_PATH = `${FHIR_PATH}/auth/token`;
const BODY_BYTES_MAX = 16 * 1024;
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/**
 * SMART Backend Services: discovery, and the token endpoint for registered
 * clients. Needs no API key.
 */
function addTokenRoutes(
  app: FastifyInstance,
  deps: DestinationDeps &
    Pick<GatewayPlatform, 'store' | 'publicBaseUrl' | 'internalTokenKey'>,
): void {
  const tokenUrl = `${deps.publicBaseUrl}${TOKEN_PATH}`;
  const check = createAssertionCheck(
    tokenUrl,
    destinationRules(deps),
    deps.publicBaseUrl,
  );
  const limiter = new AccountLimiter(deps.store);
  const clientOf = strangersLookUp(deps.store, (ids) =>
    deps.store.asSystem((tx) => findClients(tx, ids)),
  );
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: BODY_BYTES_MAX },
    (_, body, done) => done(null, new URLSearchParams(body)),
  );

  const supported = {
    token_endpoint: tokenUrl,
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    grant_types_supported: ['client_credentials'],
    scopes_supported: [
      'system/*.rs',
      SUBSCRIPTION_SCOPE,
      QUERY_SCOPE,
      ...SERVED_TYPES.map((type) => `system/${type}.rs`),
    ],
  };
  const smart = {
    ...supported,
    capabilities: ['client-confidential-asymmetric', 'permission-v2'],
  };
  addJson(
    `${FHIR_PATH}/.well-known/smart-configuration`,
    'fhirSmartConfiguration',
    smart,
  );
  addJson(
    `${RESPONDER_PATH}/.well-known/smart-configuration`,
    'fhirSmartConfiguration',
    smart,
  );
  // The same for clients of the Model Context Protocol (RFC 8414, RFC 9728).
  addJson('/.well-known/oauth-authorization-server', 'oauthServerMetadata', {
    ...supported,
    issuer: deps.publicBaseUrl,
    response_types_supported: [],
    // Clients demand it, although RFC 8414 does not without a grant that uses
    // it; nobody signs in there (decision 240).
    authorization_endpoint: `${deps.publicBaseUrl}${FHIR_PATH}/auth/authorize`,
  });
  for (const path of [
    AGENT_METADATA_PATH,
    AGENT_METADATA_PATH.slice(0, -AGENT_PATH.length),
  ])
    addJson(path, 'oauthResourceMetadata', {
      resource: `${deps.publicBaseUrl}${AGENT_PATH}`,
      resource_name: 'Medical data exchange, for agents',
      authorization_servers: [deps.publicBaseUrl],
      scopes_supported: supported.scopes_supported,
      bearer_methods_supported: ['header'],
    });

  function addJson(path: string, operation: string, document: object): void {
    const text = JSON.stringify(document);
    app.get(
      path,
      { schema: { hide: true }, config: { operation } },
      async (_request, reply) =>
        reply.type('application/json; charset=utf-8').send(text),
    );
  }

  app.post(
    TOKEN_PATH,
    { schema: { hide: true }, config: { operation: 'fhirToken' } },
    async (request, reply) => {
      const form =
        request.body instanceof URLSearchParams
          ? request.body
          : new URLSearchParams();
      reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
      const assertion = assertionIn(form);
      const clientId = check.clientIdOf(assertion);
      const client = clientId && (await clientOf(clientId));
      if (!client || client.revoked_at !== null)
        throw new OAuthRefusal(
          'invalid_client',
          'The client is not registered, or was revoked',
          401,
        );
      request.refusalNotes = {
        by: { accountId: client.account_id, actor: `client:${client.id}` },
      };
      const scopes = grantedScopes(scopesIn(form), client.scopes);
      if (scopes.length === 0)
        throw new OAuthRefusal(
          'invalid_scope',
          `scope must name some of: ${client.scopes.join(' ')}`,
        );
      const { jti, expiresAt } = await check.verify(assertion, client);
      // Only once verified: a client's id alone must not use up the share and
      // the limit of its account.
      countRequest(request, reply, client.account_id);
      await takeRequest(client.account_id);
      if (!(await issue(deps.store, request, client, jti, expiresAt)))
        throw new OAuthRefusal(
          'invalid_client',
          'The assertion was used before; each needs a jti of its own',
          401,
        );
      const token = {
        clientId: client.id,
        accountId: client.account_id,
        scopes,
      };
      return reply.send({
        access_token: await signAccessToken(deps.internalTokenKey, token),
        token_type: 'bearer',
        expires_in: ACCESS_TOKEN_SECONDS,
        scope: scopes.join(' '),
      });
    },
  );

  /** Tokens count towards the account's limit of requests. */
  async function takeRequest(accountId: string): Promise<void> {
    const account = await deps.store.asSystem((tx) =>
      findAccount(tx, accountId),
    );
    if (account !== undefined) refuseBeyond(await limiter.take(account));
  }
}

/** @throws OAuthRefusal */
function assertionIn(form: URLSearchParams): string {
  if (form.get('grant_type') !== 'client_credentials')
    throw new OAuthRefusal(
      'unsupported_grant_type',
      'grant_type must be client_credentials',
    );
  const assertion = form.get('client_assertion');
  if (form.get('client_assertion_type') === JWT_BEARER && assertion !== null)
    return assertion;
  throw new OAuthRefusal(
    'invalid_request',
    `client_assertion, and client_assertion_type ${JWT_BEARER}, are required`,
  );
}

/** The requested scopes that exist here. */
const scopesIn = (form: URLSearchParams): string[] =>
  (form.get('scope') ?? '')
    .split(/\s+/)
    .flatMap(
      (scope) =>
        parseFhirScope(scope, (type) => SERVED_TYPES.includes(type)) ?? [],
    );

/**
 * Uses up the assertion and audits the token, in one transaction. Returns false
 * when the assertion was used before.
 */
async function issue(
  store: Store,
  request: FastifyRequest,
  client: { id: string; account_id: string },
  jti: string,
  expiresAt: Date,
): Promise<boolean> {
  return store.asSystem(async (tx) => {
    if (!(await useAssertion(tx, client, jti, expiresAt))) return false;
    await withinAccount(tx, client.account_id, (own) =>
      insertAuditEntry(own, {
        actor: `client:${client.id}`,
        operation: 'fhirToken',
        targetId: client.id,
        outcome: '200',
        remoteAddress: request.ip,
      }),
    );
    return true;
  });
}

/** The algorithms that SMART Backend Services names. */
const ASSERTION_ALGORITHMS = ['RS384', 'ES384'];
/**
 * SMART: an assertion is valid for at most five minutes. Plus a minute for
 * clocks that differ.
 */
const LIFETIME_MAX_SECONDS = 360;
const CLOCK_TOLERANCE_SECONDS = 30;
const JTI_LENGTH_MAX = 500;
const KEYS = {
  timeoutDuration: 5_000,
  cooldownDuration: 30_000,
  cacheMaxAge: 300_000,
};

/** The assertion is not accepted; the reason is shown to the client. */
const rejected = (reason: string): OAuthRefusal =>
  new OAuthRefusal(
    'invalid_client',
    `The assertion is not accepted: ${reason}`,
    401,
  );

/**
 * @param tokenUrl the audience that assertions must name
 * @param destinations where keys may be fetched
 * @param issuer the authorization server's name, which is an audience too:
 *   clients of RFC 8414 use it
 */
export function createAssertionCheck(
  tokenUrl: string,
  destinations: DestinationRules,
  issuer = tokenUrl,
) {
  const fetchKeys = createKeyFetch(destinations);
  // Remote key sets cache what they fetched, so they are kept.
  const remote = new LRUCache<string, JWTVerifyGetKey>({ max: 1_000 });
  const keysOf = ({ jwks, jwks_url: url }: StoredClient): JWTVerifyGetKey => {
    if (jwks !== null) return createLocalJWKSet(jwks);
    const known = remote.get(url ?? '');
    if (known !== undefined) return known;
    const keys = createRemoteJWKSet(new URL(url ?? ''), {
      ...KEYS,
      [customFetch]: fetchKeys,
    });
    remote.set(url ?? '', keys);
    return keys;
  };

  return {
    /** The client id that an assertion claims, without verifying anything. */
    clientIdOf(assertion: string): string | undefined {
      try {
        const { sub } = decodeJwt<{ sub?: unknown }>(assertion);
        return typeof sub === 'string' ? sub : undefined;
      } catch {
        return undefined;
      }
    },
    /** Verifies signature and claims. @throws OAuthRefusal */
    async verify(
      assertion: string,
      client: StoredClient,
    ): Promise<{ jti: string; expiresAt: Date }> {
      const { jti, exp = 0 } = await claimsOf(
        assertion,
        keysOf(client),
        client.id,
        [tokenUrl, issuer],
      );
      if (exp > Date.now() / 1_000 + LIFETIME_MAX_SECONDS)
        throw rejected('exp is more than five minutes ahead');
      if (typeof jti !== 'string' || jti === '' || jti.length > JTI_LENGTH_MAX)
        throw rejected('jti is missing or too long');
      return {
        jti,
        expiresAt: new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1_000),
      };
    },
  };
}

async function claimsOf(
  assertion: string,
  keys: JWTVerifyGetKey,
  clientId: string,
  audience: [tokenUrl: string, issuer: string],
): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(assertion, keys, {
      algorithms: ASSERTION_ALGORITHMS,
      issuer: clientId,
      subject: clientId,
      audience,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      requiredClaims: ['exp', 'jti'],
    });
    return payload;
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    const keys =
      cause instanceof KeysError ? cause.message : 'the keys cannot be fetched';
    throw rejected(
      `it cannot be verified (${cause instanceof errors.JOSEError && typeof code === 'string' ? code : keys}); it needs ${ASSERTION_ALGORITHMS.join(' or ')}, iss and sub ${clientId}, and aud ${audience[0]}`,
    );
  }
}
