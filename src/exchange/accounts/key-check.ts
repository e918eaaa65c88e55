import { LRUCache } from 'lru-cache';
import { BatchedLookUp, LookUpsFullError } from '../../lib/batched-look-up.ts';
import type { Store } from '../platform/database/database.ts';
import { OverloadError } from '../platform/errors.ts';
import { findKeyHolders, findKeyHoldersById, type KeyHolder } from './api-key-store.ts';

/** Tells what a key is at this moment. Nothing is cached: a revocation is in force with its commit. */
export interface KeyCheck {
  /**
   * By the SHA-256 of the key; none when it is unknown. Its state may be that it is good no more. Throws OverloadError when
   * too many unknown keys are being tried.
   */
  byHash(hash: Buffer): Promise<KeyHolder | undefined>;
  /** For what lives only as long as the key that made it (embed tokens): none when that is not good any more. */
  byId(keyId: string): Promise<KeyHolder | undefined>;
}

/** A key that was good is looked up with others that were, and never waits behind keys that strangers try out. */
const GOOD_LATELY = { ttl: 60 * 60_000, max: 10_000 };
const UNPROVEN_MAX = { atOnce: 100, waiting: 1_000 };

/** One for a gateway: requests at the same time share a look-up. */
export function createKeyCheck(store: Pick<Store, 'call' | 'asSystem'>): KeyCheck {
  const find = (hashes: string[]) =>
    findKeyHolders(
      store,
      hashes.map((hash) => Buffer.from(hash, 'hex')),
    );
  const goodLately = new LRUCache<string, true>(GOOD_LATELY);
  const proven = new BatchedLookUp(find);
  const unproven = new BatchedLookUp(find, UNPROVEN_MAX);
  const byId = new BatchedLookUp((keyIds) => findKeyHoldersById(store, keyIds));
  return {
    async byHash(hash) {
      const key = hash.toString('hex');
      const lookUp = goodLately.get(key) === true ? proven : unproven;
      const holder = await lookUp.get(key).catch(asOverload);
      if (holder?.state === 'good') goodLately.set(key, true);
      return holder;
    },
    async byId(keyId) {
      const holder = await byId.get(keyId).catch(asOverload);
      return holder?.state === 'good' ? holder : undefined;
    },
  };
}

function asOverload(error: unknown): never {
  if (error instanceof LookUpsFullError)
    throw new OverloadError('Too many keys are being checked; try again shortly');
  throw error;
}
