import type { ResolvedSourceConfig } from '../../source-config.ts';
import { createGrant } from './grant.ts';
import { type IssuedToken, separateTokens, type TokenDeps } from './token-deps.ts';

export interface TokenProvider {
  /** The value of the Authorization header, or undefined when the source needs none. */
  authorization(): Promise<string | undefined>;
  /** Scopes that the token in use lacks although we asked for them. */
  missingScopes(): readonly string[];
  /** Discards a token that the source rejected; returns whether a new one can be requested. */
  invalidate(authorization: string): Promise<boolean>;
}

export function createTokenProvider(config: ResolvedSourceConfig, deps: TokenDeps): TokenProvider {
  const { auth } = config;
  if (auth.kind === 'none') return fixed(undefined);
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
      // Tokens are renewed before they end, so a failure does not stop the calls that the old one still serves.
      if (current === undefined || now() >= current.endsAtMs) throw error;
    }
    return current.authorization;
  }

  return {
    async authorization() {
      if (current !== undefined && now() < current.renewAtMs) return current.authorization;
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
