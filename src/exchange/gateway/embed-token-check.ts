import { BatchedLookUp } from '../../lib/batched-look-up.ts';
import { type EmbedToken, verifyEmbedToken } from '../embed/embed-token.ts';
import type { KeyHolder } from '../store/api-keys.ts';
import type { Store } from '../store/database.ts';
import { findRevokedEmbedTokens } from '../store/embed-tokens.ts';
import type { KeyCheck } from './key-check.ts';

export interface EmbedTokenHolder {
  token: EmbedToken;
  holder: KeyHolder;
}

/** Tells whether embed tokens are good at this moment; nothing is cached, as with keys. */
export interface EmbedTokenCheck {
  /** None when the token is none, has expired, or was revoked, or its key was, or that may not read any more. */
  byToken(token: string): Promise<EmbedTokenHolder | undefined>;
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
      const holder = token && (await holderOf(token));
      return token && holder && { token, holder };
    },
    isGood: async (token) => (await holderOf(token)) !== undefined,
  };
}
