import { createHmac } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';

/** JWT audience of embed tokens. */
export const EMBED_AUDIENCE = 'embed';

/** The claims of an embed token. */
export interface EmbedToken {
  /** `jti`: identifies the token in the audit log and when it is revoked. */
  tokenId: string;
  accountId: string;
  /** The API key that created it; revoking the key revokes the token. */
  keyId: string;
  expiresAt: Date;
}

/** Derived from the internal token key; tokens signed with one of the keys are not valid for the other. */
const signingKey = (internalTokenKey: string): Uint8Array =>
  createHmac('sha256', internalTokenKey).update('embed tokens').digest();

/** Signs a JWT (HS256) that contains only opaque ids and times, no personal data. */
export const signEmbedToken = (
  internalTokenKey: string,
  { tokenId, accountId, keyId, expiresAt }: EmbedToken,
): Promise<string> =>
  new SignJWT({ key: keyId })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setAudience(EMBED_AUDIENCE)
    .setSubject(accountId)
    .setJti(tokenId)
    .setIssuedAt()
    .setExpirationTime(Math.floor(expiresAt.getTime() / 1000))
    .sign(signingKey(internalTokenKey));

/** Verifies signature and claims; undefined for a foreign or altered token. Revocation is checked in `embed-token-check.ts`. */
export async function verifyEmbedToken(
  internalTokenKey: string,
  token: string,
  now: Date = new Date(),
): Promise<(EmbedToken & { hasExpired: boolean }) | undefined> {
  try {
    const { payload, hasExpired } = await claimsOf(internalTokenKey, token, now);
    const { sub: accountId, jti: tokenId, key: keyId, exp } = payload;
    if (!isId(accountId) || !isId(tokenId) || !isId(keyId) || exp === undefined) return undefined;
    return { tokenId, accountId, keyId, expiresAt: new Date(exp * 1000), hasExpired };
  } catch {
    return undefined;
  }
}

/** jose checks the expiry last, so a token that fails only that check was issued by us. */
async function claimsOf(
  internalTokenKey: string,
  token: string,
  currentDate: Date,
): Promise<{ payload: JWTPayload; hasExpired: boolean }> {
  const required = {
    algorithms: ['HS256'],
    audience: EMBED_AUDIENCE,
    requiredClaims: ['exp', 'sub', 'jti', 'key'],
  };
  try {
    const { payload } = await jwtVerify(token, signingKey(internalTokenKey), { ...required, currentDate });
    return { payload, hasExpired: false };
  } catch (error) {
    if (error instanceof errors.JWTExpired) return { payload: error.payload, hasExpired: true };
    throw error;
  }
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value);

declare module '../../platform/http/caller.ts' {
  interface Caller {
    /** The embed token, if that is the credential: it permits a few operations only, whatever the scopes. */
    embedToken?: EmbedToken;
  }
}
