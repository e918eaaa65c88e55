import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { digitsOf, PARTS, verifyPart } from './verify-blobs.ts';

/**
 * Finds blobs that rows refer to and that are missing, for example after a restore: one part of the store in each round, all
 * of them in 256 rounds. It cannot heal them; they must come from a backup of the blobs.
 */
export function missingBlobs(deps: {
  store: Pick<Store, 'asSystem'>;
  blobs: Pick<BlobStore, 'list'>;
  logger: Pick<Logger, 'error'>;
}): Recovery {
  const { store, blobs, logger } = deps;
  const list = (digits: string) => blobs.list(digits);
  return {
    name: 'missing blobs',
    async takeUp({ cursor = '0' }) {
      const part = Number(cursor);
      const { missing } = await verifyPart({ store, list }, digitsOf(part));
      if (missing.length > 0)
        logger.error(
          { missing: missing.length, tables: [...new Set(missing.map(({ table }) => table))] },
          'blobs that rows refer to are missing; "npm run admin -- blobs verify" lists them',
        );
      return { found: missing.length, healed: 0, failures: [], cursor: String((part + 1) % PARTS) };
    },
  };
}
