import { SourceFailure } from '../../connector.ts';
import type { ClientSecretAuth, GrantAuth, ResolvedSourceConfig } from '../../source-config.ts';
import { secretForm, secretHeader } from './client-secret.ts';
import type { IssuedToken } from './shared-tokens.ts';
import { requestTokenByKey } from './smart-backend.ts';
import type { TokenDeps } from './token-deps.ts';
import { createTokenEndpoint } from './token-request.ts';
import { requestTokenByUdap } from './udap/udap-grant.ts';

/** The way to get a token from the source's authorization server. */
export function createGrant(
  config: ResolvedSourceConfig,
  auth: GrantAuth,
  deps: TokenDeps,
): () => Promise<IssuedToken> {
  const endpoint = createTokenEndpoint(config, deps);
  switch (auth.kind) {
    case 'client-credentials':
      return () => endpoint.request(auth.tokenUrl, formOf(auth), headersOf(auth));
    case 'smart-backend': {
      const { signer } = deps;
      if (signer === undefined)
        throw new SourceFailure('denied', `${config.source}: this process has no keys to sign with`);
      return requestTokenByKey(config, auth, { ...deps, signer }, endpoint);
    }
    case 'udap':
      return requestTokenByUdap(config, auth, deps, endpoint);
  }
}

function formOf(auth: ClientSecretAuth): URLSearchParams {
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (auth.scope !== undefined) form.set('scope', auth.scope);
  if (auth.secretIn === 'form') for (const [name, value] of secretForm(auth)) form.set(name, value);
  return form;
}

const headersOf = (auth: ClientSecretAuth): Record<string, string> =>
  auth.secretIn === 'form' ? {} : secretHeader(auth);
