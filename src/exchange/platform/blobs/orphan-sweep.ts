import { randomInt } from 'node:crypto';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { findUnnamedBlobs } from './named-blobs.ts';

/** Far longer than the time between writing a blob and committing the row that refers to it. */
const ORPHAN_AGE_MS = 24 * 60 * 60_000;
/** References checked in one statement. */
const BATCH = 1_000;
/** At least this many orphans, if they are more than half of the blobs, cannot be explained by crashes. */
const SUSPICIOUS_FROM = 20;

interface OrphanSweepDeps {
  store: Pick<Store, 'asSystem'>;
  blobs: Pick<BlobStore, 'list' | 'delete'>;
  logger: Logger;
  /** Chooses the part of the store to check: two hex digits. */
  pickPart?: () => string;
}

/**
 * Deletes orphans: blobs without a row, because the process crashed between writing the blob and committing the row. Each
 * round checks one part of the store, chosen at random, so a blob is checked every few hundred rounds on average. If most
 * blobs of a part are orphans, none is deleted: then the database is probably the wrong one, or an old one.
 */
export function orphanSweep({ store, blobs, logger, pickPart = anyPart }: OrphanSweepDeps): Recovery {
  return {
    name: 'blobs that no row names',
    async takeUp(limit) {
      const part = pickPart();
      const writtenBefore = Date.now() - ORPHAN_AGE_MS;
      const orphans: string[] = [];
      let checked = 0;
      let batch: string[] = [];
      const checkBatch = async () => {
        checked += batch.length;
        const refs = batch;
        batch = [];
        if (refs.length > 0) orphans.push(...(await store.asSystem((tx) => findUnnamedBlobs(tx, refs))));
      };
      for await (const { ref, writtenAt } of blobs.list(part)) {
        if (writtenAt.getTime() < writtenBefore) batch.push(ref);
        if (batch.length === BATCH) await checkBatch();
      }
      await checkBatch();
      if (orphans.length >= SUSPICIOUS_FROM && orphans.length > checked / 2) {
        logger.error(
          { part, looked: checked, orphans: orphans.length },
          'no row refers to most blobs of this part; nothing was deleted. Check that database and blob store belong together',
        );
        return 0;
      }
      const deleted = orphans.slice(0, limit);
      for (const ref of deleted) await blobs.delete(ref);
      if (deleted.length > 0) logger.info({ part, blobs: deleted.length }, 'deleted orphaned blobs');
      return deleted.length;
    },
  };
}

const anyPart = (): string => randomInt(256).toString(16).padStart(2, '0');
