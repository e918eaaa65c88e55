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
import { OAuthRefusal } from '../platform/http/oauth-refusal.ts';
import type { DestinationRules } from '../platform/outbox/destination-guard.ts';
import type { StoredClient } from './client-store.ts';
import { createKeyFetch, KeysError } from './fetch-keys.ts';

/** The algorithms that SMART Backend Services names. */
export const ASSERTION_ALGORITHMS = ['RS384', 'ES384'];
/** SMART: an assertion is valid for at most five minutes. Plus a minute for clocks that differ. */
const LIFETIME_MAX_SECONDS = 360;
const CLOCK_TOLERANCE_SECONDS = 30;
const JTI_LENGTH_MAX = 500;
const KEYS = { timeoutDuration: 5_000, cooldownDuration: 30_000, cacheMaxAge: 300_000 };

/** The assertion is not accepted; the reason is shown to the client. */
const rejected = (reason: string): OAuthRefusal =>
  new OAuthRefusal('invalid_client', `The assertion is not accepted: ${reason}`, 401);

export interface AssertionCheck {
  /** The client id that an assertion claims, without verifying anything. */
  clientIdOf(assertion: string): string | undefined;
  /** Verifies signature and claims. @throws OAuthRefusal */
  verify(assertion: string, client: StoredClient): Promise<{ jti: string; expiresAt: Date }>;
}

/**
 * @param tokenUrl the audience that assertions must name
 * @param destinations where keys may be fetched
 */
export function createAssertionCheck(tokenUrl: string, destinations: DestinationRules): AssertionCheck {
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
    clientIdOf(assertion) {
      try {
        const { sub } = decodeJwt<{ sub?: unknown }>(assertion);
        return typeof sub === 'string' ? sub : undefined;
      } catch {
        return undefined;
      }
    },
    async verify(assertion, client) {
      const { jti, exp = 0 } = await claimsOf(assertion, keysOf(client), client.id, tokenUrl);
      if (exp > Date.now() / 1_000 + LIFETIME_MAX_SECONDS)
        throw rejected('exp is more than five minutes ahead');
      if (typeof jti !== 'string' || jti === '' || jti.length > JTI_LENGTH_MAX)
        throw rejected('jti is missing or too long');
      return { jti, expiresAt: new Date((exp + CLOCK_TOLERANCE_SECONDS) * 1_000) };
    },
  };
}

async function claimsOf(
  assertion: string,
  keys: JWTVerifyGetKey,
  clientId: string,
  audience: string,
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
    const keys = cause instanceof KeysError ? cause.message : 'the keys cannot be fetched';
    throw rejected(
      `it cannot be verified (${cause instanceof errors.JOSEError && typeof code === 'string' ? code : keys}); it needs ${ASSERTION_ALGORITHMS.join(' or ')}, iss and sub ${clientId}, and aud ${audience}`,
    );
  }
}
