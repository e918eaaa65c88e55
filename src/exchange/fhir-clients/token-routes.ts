import type { FastifyInstance, FastifyRequest } from 'fastify';
import { findAccount } from '../accounts/account-store.ts';
import { SERVED_TYPES } from '../fhir-api/capability-statement.ts';
import { insertAuditEntry } from '../platform/audit/audit-store.ts';
import { type Store, withinAccount } from '../platform/database/database.ts';
import type { GatewayPlatform } from '../platform/http/deps.ts';
import { FHIR_PATH } from '../platform/http/fhir-path.ts';
import { OAuthRefusal } from '../platform/http/oauth-refusal.ts';
import { refuseBeyond } from '../platform/http/plugins/limits.ts';
import { countRequest } from '../platform/http/plugins/request-share.ts';
import { AccountLimiter } from '../platform/limits/account-limiter.ts';
import { ACCESS_TOKEN_SECONDS, signAccessToken } from './access-token.ts';
import { ASSERTION_ALGORITHMS, createAssertionCheck } from './client-assertion.ts';
import { findClient, useAssertion } from './client-store.ts';
import { grantedScopes, parseFhirScope } from './rules/fhir-scopes.ts';

const TOKEN_PATH = `${FHIR_PATH}/auth/token`;
const BODY_BYTES_MAX = 16 * 1024;
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** SMART Backend Services: discovery, and the token endpoint for registered clients. Needs no API key. */
export function addTokenRoutes(
  app: FastifyInstance,
  deps: Pick<
    GatewayPlatform,
    'store' | 'publicBaseUrl' | 'internalTokenKey' | 'allowLoopbackWebhooks' | 'trustedWebhookOrigins'
  >,
): void {
  const tokenUrl = `${deps.publicBaseUrl}${TOKEN_PATH}`;
  const check = createAssertionCheck(tokenUrl, {
    allowLoopback: deps.allowLoopbackWebhooks,
    trustedOrigins: deps.trustedWebhookOrigins,
  });
  const limiter = new AccountLimiter(deps.store);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser<string>(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: BODY_BYTES_MAX },
    (_, body, done) => done(null, new URLSearchParams(body)),
  );

  const configuration = JSON.stringify({
    token_endpoint: tokenUrl,
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: ASSERTION_ALGORITHMS,
    grant_types_supported: ['client_credentials'],
    scopes_supported: ['system/*.rs', ...SERVED_TYPES.map((type) => `system/${type}.rs`)],
    capabilities: ['client-confidential-asymmetric', 'permission-v2'],
  });
  app.get(
    `${FHIR_PATH}/.well-known/smart-configuration`,
    { schema: { hide: true }, config: { operation: 'fhirSmartConfiguration' } },
    async (_request, reply) => reply.type('application/json; charset=utf-8').send(configuration),
  );

  app.post(
    TOKEN_PATH,
    { schema: { hide: true }, config: { operation: 'fhirToken' } },
    async (request, reply) => {
      const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
      reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' });
      const assertion = assertionIn(form);
      const clientId = check.clientIdOf(assertion);
      const client = clientId && (await deps.store.asSystem((tx) => findClient(tx, clientId)));
      if (!client || client.revoked_at !== null)
        throw new OAuthRefusal('invalid_client', 'The client is not registered, or was revoked', 401);
      request.refusalNotes = { by: { accountId: client.account_id, actor: `client:${client.id}` } };
      const scopes = grantedScopes(scopesIn(form), client.scopes);
      if (scopes.length === 0)
        throw new OAuthRefusal('invalid_scope', `scope must name some of: ${client.scopes.join(' ')}`);
      const { jti, expiresAt } = await check.verify(assertion, client);
      // Only once verified: a client's id alone must not use up the share and the limit of its account.
      countRequest(request, reply, client.account_id);
      await takeRequest(client.account_id);
      if (!(await issue(deps.store, request, client, jti, expiresAt)))
        throw new OAuthRefusal(
          'invalid_client',
          'The assertion was used before; each needs a jti of its own',
          401,
        );
      const token = { clientId: client.id, accountId: client.account_id, scopes };
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
    const account = await deps.store.asSystem((tx) => findAccount(tx, accountId));
    if (account !== undefined) refuseBeyond(await limiter.take(account));
  }
}

/** @throws OAuthRefusal */
function assertionIn(form: URLSearchParams): string {
  if (form.get('grant_type') !== 'client_credentials')
    throw new OAuthRefusal('unsupported_grant_type', 'grant_type must be client_credentials');
  const assertion = form.get('client_assertion');
  if (form.get('client_assertion_type') === JWT_BEARER && assertion !== null) return assertion;
  throw new OAuthRefusal(
    'invalid_request',
    `client_assertion, and client_assertion_type ${JWT_BEARER}, are required`,
  );
}

/** The requested scopes that exist here. */
const scopesIn = (form: URLSearchParams): string[] =>
  (form.get('scope') ?? '')
    .split(/\s+/)
    .flatMap((scope) => parseFhirScope(scope, (type) => SERVED_TYPES.includes(type)) ?? []);

/** Uses up the assertion and audits the token, in one transaction. Returns false when the assertion was used before. */
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
