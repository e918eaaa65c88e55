import { BatchedLookUp } from '../../lib/batched-look-up.ts';
import { findKeyHolders, findKeyHoldersById, type KeyHolder } from '../store/api-keys.ts';
import type { Store } from '../store/database.ts';

/** Tells what a key is at this moment. Nothing is cached: a revocation is in force with its commit. */
export interface KeyCheck {
  /** By the SHA-256 of the key; none when it is unknown. Its state may be that it is good no more. */
  byHash(hash: Buffer): Promise<KeyHolder | undefined>;
  /** For what lives only as long as the key that made it (embed tokens): none when that is not good any more. */
  byId(keyId: string): Promise<KeyHolder | undefined>;
}

/** One for a gateway: requests at the same time share a look-up. */
export function createKeyCheck(store: Store): KeyCheck {
  const byHash = new BatchedLookUp((hashes) =>
    findKeyHolders(
      store,
      hashes.map((hash) => Buffer.from(hash, 'hex')),
    ),
  );
  const byId = new BatchedLookUp((keyIds) => findKeyHoldersById(store, keyIds));
  return {
    byHash: (hash) => byHash.get(hash.toString('hex')),
    async byId(keyId) {
      const holder = await byId.get(keyId);
      return holder?.state === 'good' ? holder : undefined;
    },
  };
}
