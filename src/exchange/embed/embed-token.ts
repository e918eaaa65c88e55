import { createHmac } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';

/** Audience of the tokens of E1. */
export const EMBED_AUDIENCE = 'embed';

/** What an embed token says. */
export interface EmbedToken {
  /** `jti`: what the audit names, and what a single token is revoked by. */
  tokenId: string;
  accountId: string;
  /** The API key that made it, and with which it dies. */
  keyId: string;
  expiresAt: Date;
}

/** Of the key of internal tokens, yet neither is good for the other. */
const signingKey = (internalTokenKey: string): Uint8Array =>
  createHmac('sha256', internalTokenKey).update('embed tokens').digest();

/** A JWT (HS256): opaque ids and times, nothing of a person. */
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

/** None when it was not made by us, or was changed. Whether its key is still good is asked elsewhere. */
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

/** The expiry is judged last: a token that has only expired is known to be ours. */
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
