import { LRUCache } from 'lru-cache';
import { BatchedLookUp, LookUpsFullError } from '../../../lib/batches.ts';
import type { Store } from '../../platform/database/database.ts';
import { OverloadError } from '../../platform/errors.ts';
import { strangersLookUp } from '../../platform/limits/strangers-look-up.ts';
import {
  type ApiKeyOwner,
  findKeysByHash,
  findKeysById,
} from './api-key-store.ts';

/**
 * Looks up the current state of API keys. Nothing is cached, so a revocation
 * takes effect with its commit.
 */
export type KeyCheck = ReturnType<typeof createKeyCheck>;

/**
 * Keys that were good recently are looked up separately, so that they never
 * wait behind a flood of unknown keys.
 */
const GOOD_LATELY = { ttl: 60 * 60_000, max: 10_000 };

/** Creates the key check of a gateway. Concurrent requests share a look-up. */
export function createKeyCheck(
  store: Pick<Store, 'call' | 'asSystem' | 'inStrangersTurn'>,
) {
  const find = (hashes: string[]) =>
    findKeysByHash(
      store,
      hashes.map((hash) => Buffer.from(hash, 'hex')),
    );
  const goodLately = new LRUCache<string, true>(GOOD_LATELY);
  const proven = new BatchedLookUp(find);
  const unproven = strangersLookUp(store, find);
  const byId = new BatchedLookUp((keyIds) => findKeysById(store, keyIds));
  return {
    /**
     * Finds a key by its SHA-256 hash, including revoked and expired keys;
     * undefined if it is unknown. Throws OverloadError if too many unknown keys
     * are being checked.
     */
    async byHash(hash: Buffer): Promise<ApiKeyOwner | undefined> {
      const key = hash.toString('hex');
      const isProven = goodLately.get(key) === true;
      const owner = await (isProven
        ? proven.get(key).catch(asOverload)
        : unproven(key));
      if (owner?.state === 'good') goodLately.set(key, true);
      return owner;
    },
    /**
     * Finds a key by id; undefined unless it is good. For embed tokens, which
     * are valid only as long as their key.
     */
    async byId(keyId: string): Promise<ApiKeyOwner | undefined> {
      const owner = await byId.get(keyId).catch(asOverload);
      return owner?.state === 'good' ? owner : undefined;
    },
  };
}

function asOverload(error: unknown): never {
  if (error instanceof LookUpsFullError)
    throw new OverloadError(
      'gateway',
      'Too many keys are being checked; try again shortly',
    );
  throw error;
}
