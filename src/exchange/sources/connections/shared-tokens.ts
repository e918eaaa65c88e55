import { createHash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { DecryptionError, type KeyRing } from '../../../lib/key-ring.ts';
import type { Store } from '../../platform/database/database.ts';
import { SourceFailure } from '../connectors/connector.ts';
import type { IssuedToken, SharedTokens } from '../connectors/http/auth/token-deps.ts';
import type { ResolvedSourceConfig } from '../connectors/source-config.ts';
import { claimToken, forgetToken, readToken, releaseToken, saveToken } from './token-store.ts';

/** Longer than a token request may take. */
const CLAIM_MS = 60_000;
const POLL_MS = 200;

/**
 * Tokens in PostgreSQL, encrypted. Whoever finds a token due claims it, requests a new one outside of any transaction and
 * stores it; the others use the old token while it lasts, or wait for the new one.
 */
export function createSharedTokens(store: Pick<Store, 'asSystem'>, keyRing: KeyRing): SharedTokens {
  async function renew(name: string, purpose: string, request: () => Promise<IssuedToken>) {
    try {
      const token = await request();
      const sealed = keyRing.encrypt(Buffer.from(token.authorization), purpose);
      const [renewAt, endsAt] = [new Date(token.renewAtMs), new Date(token.endsAtMs)];
      await store.asSystem((tx) =>
        saveToken(tx, name, { sealed, renewAt, endsAt, missingScopes: token.missingScopes }),
      );
      return token;
    } catch (error) {
      await store.asSystem((tx) => releaseToken(tx, name));
      throw error;
    }
  }

  return {
    async obtain(config, request) {
      const { name, purpose } = nameOf(config);
      const giveUpAtMs = Date.now() + CLAIM_MS;
      for (;;) {
        const stored = await store.asSystem((tx) => claimToken(tx, name, CLAIM_MS));
        if (stored.isClaimed) return renew(name, purpose, request);
        const authorization = stored.isEnded ? undefined : unsealed(keyRing, stored.sealed, purpose);
        if (authorization !== undefined)
          return {
            authorization,
            renewAtMs: stored.renewAt?.getTime() ?? 0,
            endsAtMs: stored.endsAt?.getTime() ?? 0,
            ...(stored.missingScopes === null ? {} : { missingScopes: stored.missingScopes }),
          };
        // Encrypted for other credentials, or with a key that is gone.
        const { sealed } = stored;
        if (!stored.isEnded && sealed !== null) await store.asSystem((tx) => forgetToken(tx, name, sealed));
        else if (Date.now() >= giveUpAtMs)
          throw new SourceFailure('transport', `${config.source} did not answer the token request`);
        else await delay(POLL_MS);
      }
    },

    async discard(config, authorization) {
      const { name, purpose } = nameOf(config);
      await store.asSystem(async (tx) => {
        const sealed = await readToken(tx, name);
        if (sealed !== undefined && unsealed(keyRing, sealed, purpose) === authorization)
          await forgetToken(tx, name, sealed);
      });
    },
  };
}

/** The credentials are part of the purpose, so a token obtained with other credentials does not decrypt. */
function nameOf({ connectionKey, baseUrl, auth, purposeOfUse }: ResolvedSourceConfig) {
  const credentials = createHash('sha256')
    .update(JSON.stringify([baseUrl.href, auth]))
    .digest('base64url');
  // A token that was requested for one purpose must not be used for another one.
  const name = auth.kind === 'udap' ? `${connectionKey}/${purposeOfUse}` : connectionKey;
  return { name, purpose: `source-token/${name}/${credentials}` };
}

function unsealed(keyRing: KeyRing, sealed: Buffer | null, purpose: string): string | undefined {
  if (sealed === null) return undefined;
  try {
    return keyRing.decrypt(sealed, purpose).toString('utf8');
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}
