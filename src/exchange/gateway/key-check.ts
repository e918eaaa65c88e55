import { BatchedLookUp } from '../../lib/batched-look-up.ts';
import { findKeyHolders, findKeyHoldersById, type KeyHolder } from '../store/api-keys.ts';
import type { Store } from '../store/database.ts';

/** Tells whether a key is good at this moment. Nothing is cached: a revocation is in force with its commit. */
export interface KeyCheck {
  /** By the SHA-256 of the key; none when it is unknown, revoked or expired. */
  byHash(hash: Buffer): Promise<KeyHolder | undefined>;
  /** For what lives only as long as the key that made it (embed tokens). */
  byId(keyId: string): Promise<KeyHolder | undefined>;
}

/** One for a gateway: requests at the same time share a look-up. */
export function createKeyCheck(store: Store): KeyCheck {
  const byHash = new BatchedLookUp((hashes) =>
    store.asSystem((tx) =>
      findKeyHolders(
        tx,
        hashes.map((hash) => Buffer.from(hash, 'hex')),
      ),
    ),
  );
  const byId = new BatchedLookUp((keyIds) => store.asSystem((tx) => findKeyHoldersById(tx, keyIds)));
  return {
    byHash: (hash) => byHash.get(hash.toString('hex')),
    byId: (keyId) => byId.get(keyId),
  };
}
