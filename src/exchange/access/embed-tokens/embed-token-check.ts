import { BatchedLookUp } from '../../../lib/batched-look-up.ts';
import type { Store } from '../../platform/database/database.ts';
import type { ApiKeyOwner } from '../accounts/api-key-store.ts';
import type { KeyCheck } from '../accounts/key-check.ts';
import { type EmbedToken, verifyEmbedToken } from './embed-token.ts';
import { findRevokedEmbedTokens } from './token-store.ts';

export type KnownEmbedToken =
  | { state: 'good'; token: EmbedToken; holder: ApiKeyOwner }
  /** Our token, but no longer valid: it has expired; it or its key was revoked; or its key lost the scope `read`. */
  | { state: 'expired' | 'revoked'; token: EmbedToken };

/** Checks embed tokens against the current state; like API keys, they are not cached. */
export interface EmbedTokenCheck {
  /** Undefined when the token was not issued by us. */
  byToken(token: string): Promise<KnownEmbedToken | undefined>;
  /** Whether a token that was verified before is still valid: neither it nor its key has been revoked. */
  isGood(token: EmbedToken): Promise<boolean>;
}

export function createEmbedTokenCheck(deps: {
  store: Store;
  keys: Pick<KeyCheck, 'byId'>;
  internalTokenKey: string;
}): EmbedTokenCheck {
  const revoked = new BatchedLookUp((ids) => deps.store.asSystem((tx) => findRevokedEmbedTokens(tx, ids)));
  const holderOf = async ({ keyId, tokenId, accountId }: EmbedToken): Promise<ApiKeyOwner | undefined> => {
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
