import { createPrivateKey, randomUUID } from 'node:crypto';
import { type JWTPayload, SignJWT } from 'jose';
import type { UdapAuth } from '../../../source-config.ts';
import { x5cOf } from './certificates.ts';

/** The specification allows five minutes; one less, for a server whose clock is behind. */
const LIFE_SECONDS = 240;

/** Signs claims with the key of our certificate, which the header carries. Every JWT has an id of its own. */
export function signByCertificate(auth: UdapAuth, claims: JWTPayload, nowMs: number): Promise<string> {
  const key = createPrivateKey(auth.key);
  const seconds = Math.floor(nowMs / 1_000);
  return new SignJWT({ ...claims, iat: seconds, exp: seconds + LIFE_SECONDS, jti: randomUUID() })
    .setProtectedHeader({ alg: algorithmOf(key.asymmetricKeyDetails?.namedCurve), x5c: x5cOf(auth.cert) })
    .sign(key);
}

/** RS256 is what every implementer must support. */
function algorithmOf(curve: string | undefined): string {
  if (curve === undefined) return 'RS256';
  return curve === 'secp384r1' ? 'ES384' : 'ES256';
}
