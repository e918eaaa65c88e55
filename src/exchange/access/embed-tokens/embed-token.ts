import { createHmac } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { v7 as uuidv7 } from 'uuid';
import { BatchedLookUp } from '../../../lib/batches.ts';
import { ForbiddenError } from '../../platform/errors.ts';
import type { GatewayPlatform } from '../../platform/http/deps.ts';
import { ok } from '../../platform/http/operation.ts';
import type { Operations } from '../../platform/http/operations.ts';
import type { ApiKeyOwner } from '../accounts/api-key-store.ts';
import type { KeyCheck } from '../accounts/key-check.ts';
import { findRevokedEmbedTokens } from './token-store.ts';

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

/**
 * Derived from the internal token key; tokens signed with one of the keys are
 * not valid for the other.
 */
const signingKey = (internalTokenKey: string): Uint8Array =>
  createHmac('sha256', internalTokenKey).update('embed tokens').digest();

/**
 * Signs a JWT (HS256) that contains only opaque ids and times, no personal
 * data.
 */
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

/**
 * Verifies signature and claims, not whether it was revoked; undefined for a
 * foreign or altered token.
 */
export async function verifyEmbedToken(
  internalTokenKey: string,
  token: string,
  now: Date = new Date(),
): Promise<(EmbedToken & { hasExpired: boolean }) | undefined> {
  try {
    const { payload, hasExpired } = await claimsOf(
      internalTokenKey,
      token,
      now,
    );
    const { sub: accountId, jti: tokenId, key: keyId, exp } = payload;
    if (!isId(accountId) || !isId(tokenId) || !isId(keyId) || exp === undefined)
      return undefined;
    return {
      tokenId,
      accountId,
      keyId,
      expiresAt: new Date(exp * 1000),
      hasExpired,
    };
  } catch {
    return undefined;
  }
}

/**
 * jose checks the expiry last, so a token that fails only that check was issued
 * by us.
 */
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
    const { payload } = await jwtVerify(token, signingKey(internalTokenKey), {
      ...required,
      currentDate,
    });
    return { payload, hasExpired: false };
  } catch (error) {
    if (error instanceof errors.JWTExpired)
      return { payload: error.payload, hasExpired: true };
    throw error;
  }
}

const isId = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f-]{36}$/.test(value);

declare module '../../platform/http/caller.ts' {
  interface Caller {
    /**
     * The embed token, if that is the credential: it permits a few operations
     * only, whatever the scopes.
     */
    embedToken?: EmbedToken;
  }
}

type KnownEmbedToken =
  | { state: 'good'; token: EmbedToken; holder: ApiKeyOwner }
  /**
   * Our token, but no longer valid: it has expired; it or its key was revoked;
   * or its key lost the scope `read`.
   */
  | { state: 'expired' | 'revoked'; token: EmbedToken };

/**
 * Checks embed tokens against the current state; like API keys, they are not
 * cached.
 */
export function createEmbedTokenCheck(
  deps: Pick<GatewayPlatform, 'store' | 'internalTokenKey'> & {
    keys: Pick<KeyCheck, 'byId'>;
  },
) {
  const revoked = new BatchedLookUp((ids) =>
    deps.store.asSystem((tx) => findRevokedEmbedTokens(tx, ids)),
  );
  const holderOf = async ({
    keyId,
    tokenId,
    accountId,
  }: EmbedToken): Promise<ApiKeyOwner | undefined> => {
    const [holder, isRevoked] = await Promise.all([
      deps.keys.byId(keyId),
      revoked.get(tokenId),
    ]);
    const isGood =
      !isRevoked &&
      holder?.account.id === accountId &&
      holder.scopes.includes('read');
    return isGood ? holder : undefined;
  };
  return {
    /** Undefined when the token was not issued by us. */
    async byToken(text: string): Promise<KnownEmbedToken | undefined> {
      const token = await verifyEmbedToken(deps.internalTokenKey, text);
      if (token === undefined) return undefined;
      if (token.hasExpired) return { state: 'expired', token };
      const holder = await holderOf(token);
      return holder === undefined
        ? { state: 'revoked', token }
        : { state: 'good', token, holder };
    },
    /**
     * Whether a token that was verified before is still valid: neither it nor
     * its key has been revoked.
     */
    isGood: async (token: EmbedToken) => (await holderOf(token)) !== undefined,
  };
}

/** "E1. Create embed token". */
export function addEmbedTokenRoutes(
  operations: Operations,
  deps: Pick<GatewayPlatform, 'internalTokenKey'>,
): void {
  operations.write('createEmbedToken', async (tx, { body, caller }) => {
    const { keyId } = caller;
    if (keyId === undefined)
      throw new ForbiddenError(
        'Embed tokens can be created only with an API key',
      );
    const tokenId = uuidv7();
    const token = await signEmbedToken(deps.internalTokenKey, {
      tokenId,
      accountId: tx.accountId,
      keyId,
      expiresAt: new Date(Date.now() + body.expirationInSeconds * 1000),
    });
    return ok(
      { token },
      { targetId: tokenId, headers: { 'cache-control': 'no-store' } },
    );
  });
}
