import { BatchedLookUp } from '../../lib/batched-look-up.ts';
import type { KeyHolder } from '../accounts/api-key-store.ts';
import type { KeyCheck } from '../accounts/key-check.ts';
import type { Store } from '../platform/database/database.ts';
import { type EmbedToken, verifyEmbedToken } from './embed-token.ts';
import { findRevokedEmbedTokens } from './token-store.ts';

export type KnownEmbedToken =
  | { state: 'good'; token: EmbedToken; holder: KeyHolder }
  /** Ours, and good no more: it has expired, or was revoked, or its key was, or that may not read any more. */
  | { state: 'expired' | 'revoked'; token: EmbedToken };

/** Tells what embed tokens are at this moment; nothing is cached, as with keys. */
export interface EmbedTokenCheck {
  /** None when the token is none of ours. */
  byToken(token: string): Promise<KnownEmbedToken | undefined>;
  /** Of a token that was verified before: whether neither it nor its key was revoked since. */
  isGood(token: EmbedToken): Promise<boolean>;
}

export function createEmbedTokenCheck(deps: {
  store: Store;
  keys: Pick<KeyCheck, 'byId'>;
  internalTokenKey: string;
}): EmbedTokenCheck {
  const revoked = new BatchedLookUp((ids) => deps.store.asSystem((tx) => findRevokedEmbedTokens(tx, ids)));
  const holderOf = async ({ keyId, tokenId, accountId }: EmbedToken): Promise<KeyHolder | undefined> => {
    const [holder, isRevoked] = await Promise.all([deps.keys.byId(keyId), revoked.get(tokenId)]);
    const isGood = !isRevoked && holder?.account.id === accountId && holder.scopes.includes('read');
    return isGood ? holder : undefined;
  };
  return {
    async byToken(text) {
      const token = await verifyEmbedToken(deps.internalTokenKey, text);
      if (token === undefined) return undefined;
      if (token.hasExpired) return { state: 'expired', token };
      const holder = await holderOf(token);
      return holder === undefined ? { state: 'revoked', token } : { state: 'good', token, holder };
    },
    isGood: async (token) => (await holderOf(token)) !== undefined,
  };
}
