import { randomInt } from 'node:crypto';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { findUnnamedBlobs } from './named-blobs.ts';

/** Far longer than it takes from a blob's last byte to the commit of the row that names it. */
const ORPHAN_AGE_MS = 24 * 60 * 60_000;
/** Asked for in one statement. */
const BATCH = 1_000;
/** So many orphans that are more than half of all are no traces of crashes. */
const SUSPICIOUS_FROM = 20;

interface OrphanSweepDeps {
  store: Pick<Store, 'asSystem'>;
  blobs: Pick<BlobStore, 'list' | 'delete'>;
  logger: Logger;
  /** Two hex digits: which part of the store is looked through this time. */
  pickPart?: () => string;
}

/**
 * Deletes blobs that a crash left between their last byte and the commit of the row that was to name them. Each round looks
 * through another part of the store, drawn at random, so a blob is met within some hundred rounds. A part that is mostly
 * orphans is left alone: then it is the database that is wrong, or an old one.
 */
export function orphanSweep({ store, blobs, logger, pickPart = anyPart }: OrphanSweepDeps): Recovery {
  return {
    name: 'blobs that no row names',
    async takeUp(limit) {
      const part = pickPart();
      const writtenBefore = Date.now() - ORPHAN_AGE_MS;
      const orphans: string[] = [];
      let looked = 0;
      let batch: string[] = [];
      const ask = async () => {
        looked += batch.length;
        const refs = batch;
        batch = [];
        if (refs.length > 0) orphans.push(...(await store.asSystem((tx) => findUnnamedBlobs(tx, refs))));
      };
      for await (const { ref, writtenAt } of blobs.list(part)) {
        if (writtenAt.getTime() < writtenBefore) batch.push(ref);
        if (batch.length === BATCH) await ask();
      }
      await ask();
      if (orphans.length >= SUSPICIOUS_FROM && orphans.length > looked / 2) {
        logger.error(
          { part, looked, orphans: orphans.length },
          'most blobs of a part belong to nobody; none was deleted: is this the database of this blob store?',
        );
        return 0;
      }
      const deleted = orphans.slice(0, limit);
      for (const ref of deleted) await blobs.delete(ref);
      if (deleted.length > 0) logger.info({ part, blobs: deleted.length }, 'deleted blobs that no row names');
      return deleted.length;
    },
  };
}

const anyPart = (): string => randomInt(256).toString(16).padStart(2, '0');
