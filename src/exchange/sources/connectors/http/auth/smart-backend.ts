import { SourceFailure } from '../../connector.ts';
import type { ResolvedSourceConfig, SmartBackendAuth } from '../../source-config.ts';
import {
  ASSERTION_ALGORITHMS,
  type AssertionAlgorithm,
  type AssertionSigner,
  assertionClaims,
  assertionForm,
} from './client-assertion.ts';
import { byServerClock } from './server-clock.ts';
import type { IssuedToken } from './shared-tokens.ts';
import { createSmartDiscovery } from './smart-discovery.ts';
import type { TokenDeps } from './token-deps.ts';
import type { TokenEndpoint } from './token-request.ts';

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
    return byServerClock(deps.now, (nowMs) => request(server.tokenUrl, algorithm, nowMs));
  };
}

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
