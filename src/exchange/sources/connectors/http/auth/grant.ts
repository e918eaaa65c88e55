import { hash } from 'node:crypto';
import { z } from 'zod';
import { destinationProblem } from '../../../../platform/outbox/destination-guard.ts';
import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig } from '../../source-config.ts';
import type {
  ClientSecretAuth,
  GrantAuth,
  SmartBackendAuth,
  UdapAuth,
} from '../../source-settings.ts';
import { badResponse, failureOfStatus } from '../failures.ts';
import {
  ASSERTION_ALGORITHMS,
  type AssertionAlgorithm,
  type AssertionSigner,
  assertionClaims,
  assertionForm,
  createTokenEndpoint,
  type IssuedToken,
  requestJson,
  separateTokens,
  type TokenDeps,
  type TokenEndpoint,
  TokenRefused,
} from './token-request.ts';
import {
  readUdapServer,
  registerAt,
  signByCertificate,
  type UdapServer,
} from './udap.ts';

/** The way to get a token from the source's authorization server. */
function createGrant(
  config: ResolvedSourceConfig,
  auth: GrantAuth,
  deps: TokenDeps,
): () => Promise<IssuedToken> {
  const endpoint = createTokenEndpoint(config, deps);
  switch (auth.kind) {
    case 'client-credentials':
      return () =>
        endpoint.request(auth.tokenUrl, formOf(auth), headersOf(auth));
    case 'smart-backend': {
      const { signer } = deps;
      if (signer === undefined)
        throw new SourceFailure(
          'denied',
          `${config.source}: this process has no keys to sign with`,
        );
      return requestTokenByKey(config, auth, { ...deps, signer }, endpoint);
    }
    case 'udap':
      return requestTokenByUdap(config, auth, deps, endpoint);
  }
}

function formOf(auth: ClientSecretAuth): URLSearchParams {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (auth.scope !== undefined) form.set('scope', auth.scope);
  if (auth.secretIn === 'form')
    for (const [name, value] of secretForm(auth)) form.set(name, value);
  return form;
}

const headersOf = (auth: ClientSecretAuth): Record<string, string> =>
  auth.secretIn === 'form' ? {} : secretHeader(auth);

/** HTTP Basic with both parts form-encoded (RFC 6749, 2.3.1). */
function secretHeader({
  clientId,
  clientSecret,
}: ClientSecretAuth): Record<string, string> {
  const login = `${formEncoded(clientId)}:${formEncoded(clientSecret)}`;
  return { authorization: `Basic ${Buffer.from(login).toString('base64')}` };
}

/** For servers that accept the secret only in the body of the request. */
const secretForm = ({
  clientId,
  clientSecret,
}: ClientSecretAuth): [string, string][] => [
  ['client_id', clientId],
  ['client_secret', clientSecret],
];

const formEncoded = (text: string): string =>
  new URLSearchParams({ '': text }).toString().slice(1);

/**
 * SMART Backend Services (SMART App Launch 2.2): client credentials with an
 * assertion that our key signs.
 */
function requestTokenByKey(
  config: ResolvedSourceConfig,
  auth: SmartBackendAuth,
  deps: TokenDeps & { signer: AssertionSigner },
  endpoint: TokenEndpoint,
): () => Promise<IssuedToken> {
  const discover = createSmartDiscovery(config, deps);

  async function request(
    tokenUrl: string,
    algorithm: AssertionAlgorithm,
    nowMs: number,
  ) {
    const assertion = await deps.signer.sign(
      assertionClaims(auth.clientId, tokenUrl, nowMs),
      algorithm,
    );
    return endpoint.request(tokenUrl, assertionForm(assertion, auth.scope));
  }

  return async () => {
    const server =
      auth.tokenUrl === undefined
        ? await discover()
        : { tokenUrl: auth.tokenUrl };
    const algorithm = auth.algorithm ?? algorithmFor(config, server.algorithms);
    return byServerClock(deps.now, (nowMs) =>
      request(server.tokenUrl, algorithm, nowMs),
    );
  };
}

/**
 * The first of our algorithms that the server lists; ES384 when it lists none.
 */
function algorithmFor(
  { source }: ResolvedSourceConfig,
  offered: readonly string[] | undefined,
): AssertionAlgorithm {
  if (offered === undefined) return ASSERTION_ALGORITHMS[0];
  const algorithm = ASSERTION_ALGORITHMS.find((name) => offered.includes(name));
  if (algorithm === undefined)
    throw new SourceFailure(
      'denied',
      `${source} accepts neither ES384 nor RS384 for client assertions`,
    );
  return algorithm;
}

/** HL7's codes for why data is requested. */
const PURPOSE_OF_USE = {
  treatment: 'urn:oid:2.16.840.1.113883.5.8#TREAT',
  ias: 'urn:oid:2.16.840.1.113883.5.8#PATRQT',
} as const;

/**
 * Client credentials with an assertion that our certificate signs, and that
 * says for what purpose we ask (SSRAA 2.0, 5.2).
 */
function requestTokenByUdap(
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  deps: TokenDeps,
  endpoint: TokenEndpoint,
): () => Promise<IssuedToken> {
  const request = (clientId: string, { tokenUrl }: UdapServer) =>
    byServerClock(deps.now, async (nowMs) => {
      const claims = {
        iss: clientId,
        sub: clientId,
        aud: tokenUrl,
        extensions: extensionsOf(config, auth),
      };
      const form = assertionForm(
        await signByCertificate(auth, claims, nowMs),
        auth.scope,
      );
      form.set('udap', '1');
      return endpoint.request(tokenUrl, form);
    });

  return async () => {
    const server = await readUdapServer(config, auth, deps);
    const clients = clientsAt(server, config, auth, deps);
    const clientId = await clients.obtain();
    try {
      return await request(clientId, server);
    } catch (error) {
      if (!(error instanceof TokenRefused) || !isUnknownClient(error))
        throw error;
      if (!(await clients.forget(clientId))) throw error;
      return request(await clients.obtain(), server);
    }
  };
}

/** The authorization server does not know us, or no longer. */
const isUnknownClient = ({ code }: TokenRefused): boolean =>
  code === 'invalid_client' || code === 'unauthorized_client';

/**
 * Our client id at an authorization server. A connection to one server has its
 * own; for the members of a network, of which each may have a server of its own,
 * we register when it is first needed, once for all that share a server.
 */
function clientsAt(
  { registrationUrl }: UdapServer,
  config: ResolvedSourceConfig,
  auth: UdapAuth,
  deps: TokenDeps,
): {
  obtain: () => Promise<string>;
  /** @returns whether we may register again */
  forget: (clientId: string) => Promise<boolean>;
} {
  const { networkKey, source } = config;
  if (networkKey === undefined)
    return {
      obtain: async () => {
        if (auth.clientId !== undefined) return auth.clientId;
        throw new SourceFailure(
          'denied',
          `${source}: the connection is not registered by UDAP yet`,
        );
      },
      forget: async () => false,
    };
  const shared = deps.sharedTokens ?? separateTokens;
  // Client ids are kept, and shared among workers, as tokens are.
  const kept = {
    ...config,
    connectionKey: `client/${hash('sha256', registrationUrl, 'base64url')}`,
    baseUrl: new URL(registrationUrl),
  };
  return {
    obtain: async () => {
      const { authorization } = await shared.obtain(kept, async () => {
        const clientId = await registerAt(registrationUrl, config, auth, deps);
        const endsAtMs = deps.now() + REGISTERED_MS;
        return { authorization: clientId, renewAtMs: endsAtMs, endsAtMs };
      });
      return authorization;
    },
    forget: async (clientId) => {
      await shared.discard(kept, clientId);
      return true;
    },
  };
}

/** After so long we register again: a server may forget who does not. */
const REGISTERED_MS = 30 * 24 * 60 * 60_000;

/**
 * The code of a query's purpose. A connection that is registered for one
 * purpose asks for no other.
 */
function purposeCodeOf(
  { source, purposeOfUse }: ResolvedSourceConfig,
  { purpose }: UdapAuth,
): string {
  if (purpose === undefined) return PURPOSE_OF_USE[purposeOfUse];
  if (purposeOfUse === 'ias')
    throw new SourceFailure(
      'refused',
      `${source}: the connection is registered for ${purpose.slice(purpose.indexOf('#') + 1)}, and not for individual access, which its network grants only with the token of an identity service`,
    );
  return purpose;
}

const extensionsOf = (config: ResolvedSourceConfig, auth: UdapAuth) => ({
  'hl7-b2b': {
    version: '1',
    organization_id: auth.organizationId,
    ...(auth.organizationName === undefined
      ? {}
      : { organization_name: auth.organizationName }),
    purpose_of_use: [purposeCodeOf(config, auth)],
  },
});

const WELL_KNOWN = '.well-known/smart-configuration';
const KEPT_MS = 10 * 60_000;

const configurationSchema = z.object({
  token_endpoint: z.url({ protocol: /^https?$/ }),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  token_endpoint_auth_signing_alg_values_supported: z
    .array(z.string())
    .optional(),
});

export interface SmartServer {
  tokenUrl: string;
  /** Undefined when the server does not list them. */
  algorithms?: readonly string[];
}

/**
 * Reads where a FHIR server's token endpoint is, and what it accepts; remembers
 * the answer for ten minutes.
 */
export function createSmartDiscovery(
  config: ResolvedSourceConfig,
  deps: Pick<TokenDeps, 'dispatcher' | 'now'>,
): () => Promise<SmartServer> {
  let known: { server: SmartServer; staleAtMs: number } | undefined;
  return async () => {
    if (known === undefined || deps.now() >= known.staleAtMs)
      known = {
        server: await discover(config, deps),
        staleAtMs: deps.now() + KEPT_MS,
      };
    return known.server;
  };
}

async function discover(
  config: ResolvedSourceConfig,
  { dispatcher }: Pick<TokenDeps, 'dispatcher'>,
): Promise<SmartServer> {
  const { source, baseUrl } = config;
  const url = new URL(WELL_KNOWN, baseUrl);
  const { status, json } = await requestJson(config, dispatcher, {
    url,
    label: WELL_KNOWN,
  });
  if (status !== 200) throw notFound(config, status);
  const found = configurationSchema.safeParse(json);
  if (!found.success)
    throw badResponse(
      source,
      `answered ${WELL_KNOWN} without a token endpoint`,
    );
  return checked(config, found.data);
}

function checked(
  { source, baseUrl }: ResolvedSourceConfig,
  found: z.infer<typeof configurationSchema>,
): SmartServer {
  const methods = found.token_endpoint_auth_methods_supported;
  if (methods !== undefined && !methods.includes('private_key_jwt'))
    throw new SourceFailure(
      'denied',
      `${source} does not offer private_key_jwt (${WELL_KNOWN})`,
    );
  // A token must not travel less protected than the data it opens.
  if (
    baseUrl.protocol === 'https:' &&
    new URL(found.token_endpoint).protocol !== 'https:'
  )
    throw new SourceFailure(
      'denied',
      `${source} names a token endpoint without https (${WELL_KNOWN})`,
    );
  // A server on the internet must not make this one ask into a private network;
  // where that is meant, `tokenUrl` says so.
  if (isPublicAddress(baseUrl.href) && !isPublicAddress(found.token_endpoint))
    throw new SourceFailure(
      'denied',
      `${source} names a token endpoint in a private network (${WELL_KNOWN}); if that is right, set tokenUrl`,
    );
  return {
    tokenUrl: found.token_endpoint,
    algorithms: found.token_endpoint_auth_signing_alg_values_supported,
  };
}

const isPublicAddress = (url: string): boolean =>
  destinationProblem(url, { allowLoopback: false }) === undefined;

function notFound(
  { source }: ResolvedSourceConfig,
  status: number,
): SourceFailure {
  if (status !== 404) return failureOfStatus(source, WELL_KNOWN, { status });
  return new SourceFailure(
    'denied',
    `${source} has no ${WELL_KNOWN}; configure its token endpoint`,
    {
      httpStatus: status,
    },
  );
}

/**
 * A difference between the clocks that may be why the server rejected an
 * assertion.
 */
const SKEW_MS = 30_000;

/**
 * Requests a token with an assertion signed at our time. If the server rejects
 * it and its clock differs from ours, the assertion has expired, or is not
 * valid yet, by its clock: then once more by that clock.
 */
async function byServerClock(
  now: () => number,
  request: (nowMs: number) => Promise<IssuedToken>,
): Promise<IssuedToken> {
  try {
    return await request(now());
  } catch (error) {
    if (!(error instanceof TokenRefused) || !isClockFault(error)) throw error;
    return request(now() + (error.clockAheadMs ?? 0));
  }
}

const isClockFault = ({ code, clockAheadMs = 0 }: TokenRefused): boolean =>
  (code === 'invalid_client' || code === 'invalid_grant') &&
  Math.abs(clockAheadMs) > SKEW_MS;

export interface TokenProvider {
  /**
   * The value of the Authorization header, or undefined when the source needs
   * none.
   */
  authorization(): Promise<string | undefined>;
  /** Scopes that the token in use lacks although we asked for them. */
  missingScopes(): readonly string[];
  /**
   * Discards a token that the source rejected; returns whether a new one can be
   * requested.
   */
  invalidate(authorization: string): Promise<boolean>;
}

export function createTokenProvider(
  config: ResolvedSourceConfig,
  deps: TokenDeps,
): TokenProvider {
  const { auth } = config;
  // An assertion of SAML is in the message itself.
  if (auth.kind === 'none' || auth.kind === 'saml') return fixed(undefined);
  if (auth.kind === 'bearer') return fixed(`Bearer ${auth.token}`);

  const { now } = deps;
  const shared = deps.sharedTokens ?? separateTokens;
  const requestToken = createGrant(config, auth, deps);
  let current: IssuedToken | undefined;
  let fetching: Promise<string> | undefined;

  async function renew(): Promise<string> {
    try {
      current = await shared.obtain(config, requestToken);
    } catch (error) {
      // Tokens are renewed before they end, so a failure does not stop the
      // calls that the old one still serves.
      if (current === undefined || now() >= current.endsAtMs) throw error;
    }
    return current.authorization;
  }

  return {
    async authorization() {
      if (current !== undefined && now() < current.renewAtMs)
        return current.authorization;
      // Queries that start at the same time share one token request.
      fetching ??= renew().finally(() => {
        fetching = undefined;
      });
      return fetching;
    },
    missingScopes: () => current?.missingScopes ?? [],
    async invalidate(authorization) {
      if (current?.authorization === authorization) current = undefined;
      await shared.discard(config, authorization);
      return true;
    },
  };
}

function fixed(authorization: string | undefined): TokenProvider {
  return {
    authorization: async () => authorization,
    missingScopes: () => [],
    invalidate: async () => false,
  };
}
