import { randomUUID } from 'node:crypto';
import type { JWTPayload } from 'jose';

/** The algorithms that SMART Backend Services requires servers to support. */
export const ASSERTION_ALGORITHMS = ['ES384', 'RS384'] as const;
export type AssertionAlgorithm = (typeof ASSERTION_ALGORITHMS)[number];

export interface AssertionSigner {
  /** Signs claims as a JWT with our current key of one algorithm; its `kid` names the key in our JWKS. */
  sign(claims: JWTPayload, algorithm: AssertionAlgorithm): Promise<string>;
}

/**
 * SMART allows five minutes. One less, so that a server whose clock is a minute behind ours does not consider the
 * assertion too long.
 */
const LIFE_SECONDS = 240;

/** The claims of a client assertion (RFC 7523). Each has an id of its own, so that none can be replayed. */
export function assertionClaims(clientId: string, tokenUrl: string, nowMs: number): JWTPayload {
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
export function assertionForm(assertion: string, scope: string | undefined): URLSearchParams {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion,
  });
  if (scope !== undefined) form.set('scope', scope);
  return form;
}
