import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig, SmartBackendAuth } from '../../source-config.ts';
import {
  ASSERTION_ALGORITHMS,
  type AssertionAlgorithm,
  type AssertionSigner,
  assertionClaims,
  assertionForm,
} from './client-assertion.ts';
import type { IssuedToken } from './shared-tokens.ts';
import { createSmartDiscovery } from './smart-discovery.ts';
import type { TokenDeps } from './token-provider.ts';
import { type TokenEndpoint, TokenRefused } from './token-request.ts';

/** A difference between the clocks that may be why the server rejected an assertion. */
const SKEW_MS = 30_000;

/** SMART Backend Services (SMART App Launch 2.2): client credentials with an assertion that our key signs. */
export function requestTokenByKey(
  config: ResolvedSourceConfig,
  auth: SmartBackendAuth,
  deps: TokenDeps & { signer: AssertionSigner },
  endpoint: TokenEndpoint,
): () => Promise<IssuedToken> {
  const discover = createSmartDiscovery(config, deps);

  async function request(tokenUrl: string, algorithm: AssertionAlgorithm, nowMs: number) {
    const assertion = await deps.signer.sign(assertionClaims(auth.clientId, tokenUrl, nowMs), algorithm);
    return endpoint.request(tokenUrl, assertionForm(assertion, auth.scope));
  }

  return async () => {
    const server = auth.tokenUrl === undefined ? await discover() : { tokenUrl: auth.tokenUrl };
    const algorithm = auth.algorithm ?? algorithmFor(config, server.algorithms);
    try {
      return await request(server.tokenUrl, algorithm, deps.now());
    } catch (error) {
      if (!(error instanceof TokenRefused) || !isClockFault(error)) throw error;
      // The assertion has expired, or is not valid yet, by the server's clock: sign one by that clock.
      return request(server.tokenUrl, algorithm, deps.now() + (error.clockAheadMs ?? 0));
    }
  };
}

const isClockFault = ({ code, clockAheadMs = 0 }: TokenRefused): boolean =>
  (code === 'invalid_client' || code === 'invalid_grant') && Math.abs(clockAheadMs) > SKEW_MS;

/** The first of our algorithms that the server lists; ES384 when it lists none. */
function algorithmFor(
  { source }: ResolvedSourceConfig,
  offered: readonly string[] | undefined,
): AssertionAlgorithm {
  if (offered === undefined) return ASSERTION_ALGORITHMS[0];
  const algorithm = ASSERTION_ALGORITHMS.find((name) => offered.includes(name));
  if (algorithm === undefined)
    throw new SourceFailure('denied', `${source} accepts neither ES384 nor RS384 for client assertions`);
  return algorithm;
}
