import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import Provider, { type ClientMetadata } from 'oidc-provider';
import type { Certificate } from './authority.ts';

export interface TokenCall {
  status: number;
  body: string;
}

/**
 * npm `oidc-provider`, an authorization server that we did not write, over
 * https: client credentials, with a secret or a signed assertion. It fetches a
 * client's `jwks_uri`, and checks signature, audience, expiry and replay of
 * assertions.
 */
export async function startAuthorizationServer(
  { cert, key }: Certificate,
  options: {
    clients: ClientMetadata[];
    scopes: string[];
    tokenSeconds?: number;
  },
) {
  const calls: TokenCall[] = [];
  const server = createServer({ cert, key });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const issuer = `https://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: options.clients.map((client) => ({
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      ...client,
    })),
    scopes: options.scopes,
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: { enabled: false },
    },
    clientAuthMethods: [
      'client_secret_basic',
      'client_secret_post',
      'private_key_jwt',
    ],
    enabledJWA: { clientAuthSigningAlgValues: ['RS384', 'ES384'] },
    // Its own refuses addresses of this machine, where our JWKS is in a test.
    fetch: (url, { signal } = {}) => fetch(url, { signal }),
    ttl: { ClientCredentials: options.tokenSeconds ?? 300 },
  });
  provider.on('server_error', (_context, error) => console.error(error));
  const handle = provider.callback();
  server.on('request', (request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    response.on('finish', () => {
      if (request.url === '/token')
        calls.push({
          status: response.statusCode,
          body: Buffer.concat(parts).toString(),
        });
    });
    void handle(request, response);
  });
  return {
    issuer,
    tokenUrl: `${issuer}/token`,
    /** The token requests so far. */
    calls,
    /** Whether the server issued this token and it has not expired. */
    isActive: async (token: string) =>
      (await provider.ClientCredentials.find(token)) !== undefined,
    scopeOf: async (token: string) =>
      (await provider.ClientCredentials.find(token))?.scope,
    revoke: async (token: string) =>
      (await provider.ClientCredentials.find(token))?.destroy(),
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
