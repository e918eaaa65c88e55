import { BatchedLookUp, LookUpsFullError } from '../../../lib/batches.ts';
import type { Store } from '../database/database.ts';
import { OverloadError } from '../errors.ts';

/** Look-ups of one kind in one gateway. */
const STRANGERS_MAX = { atOnce: 100, waiting: 1_000 };

/**
 * Finds what somebody names who has not proven anything yet: a key, a link, an
 * account, a client. Many are looked up at once, and all kinds together use one
 * connection of the gateway, so that strangers slow nobody else. Nothing is
 * cached.
 *
 * @param find looks up a batch; a key that is missing from its answer counts as
 *   not found
 * @returns a look-up of one key, which throws OverloadError (503) when too many
 *   wait
 */
export function strangersLookUp<V>(
  { inStrangersTurn }: Pick<Store, 'inStrangersTurn'>,
  find: (keys: string[]) => Promise<ReadonlyMap<string, V>>,
): (key: string) => Promise<V | undefined> {
  const lookUp = new BatchedLookUp(
    (keys) => inStrangersTurn(() => find(keys)),
    STRANGERS_MAX,
  );
  return async (key) => {
    try {
      return await lookUp.get(key);
    } catch (error) {
      if (error instanceof LookUpsFullError)
        throw new OverloadError(
          'gateway',
          'Too many keys and links are being looked up; try again shortly',
        );
      throw error;
    }
  };
}
