import { randomInt } from 'node:crypto';
import type { Logger } from '../../../lib/logger.ts';
import type { BlobStore, ListedBlob } from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { findUnnamedBlobs } from './named-blobs.ts';

/** Far longer than the time between writing a blob and committing the row that refers to it. */
const ORPHAN_AGE_MS = 24 * 60 * 60_000;
/** Blobs checked in one round. */
const LOOKED_MAX = 5_000;
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
 * round checks at most `LOOKED_MAX` blobs of one part of the store, chosen at random, and the next round continues, so a blob
 * is checked every few hundred rounds on average. If most of the blobs checked are orphans, none is deleted: then the
 * database is probably the wrong one, or an old one.
 */
export function orphanSweep({ store, blobs, logger, pickPart = anyPart }: OrphanSweepDeps): Recovery {
  let open: { part: string; listing: AsyncIterator<ListedBlob> } | undefined;

  /** The next blobs of the current part that are old enough. */
  async function nextBlobs(signal: AbortSignal): Promise<{ part: string; refs: string[] }> {
    const part = open?.part ?? pickPart();
    const { listing } = open ?? { listing: blobs.list(part)[Symbol.asyncIterator]() };
    open = undefined;
    const writtenBefore = Date.now() - ORPHAN_AGE_MS;
    const refs: string[] = [];
    for (let looked = 0; looked < LOOKED_MAX && !signal.aborted; looked++) {
      const { done, value } = await listing.next();
      if (done === true) return { part, refs };
      if (value.writtenAt.getTime() < writtenBefore) refs.push(value.ref);
    }
    open = { part, listing };
    return { part, refs };
  }

  return {
    name: 'blobs that no row names',
    async takeUp({ limit, signal }) {
      const { part, refs } = await nextBlobs(signal);
      const orphans: string[] = [];
      for (let start = 0; start < refs.length; start += BATCH) {
        const batch = refs.slice(start, start + BATCH);
        orphans.push(...(await store.asSystem((tx) => findUnnamedBlobs(tx, batch))));
      }
      if (orphans.length >= SUSPICIOUS_FROM && orphans.length > refs.length / 2) {
        logger.error(
          { part, looked: refs.length, orphans: orphans.length },
          'no row refers to most blobs of this part; nothing was deleted. Check that database and blob store belong together',
        );
        return { found: orphans.length, healed: 0, failures: [] };
      }
      const deleted = orphans.slice(0, limit);
      for (const ref of deleted) await blobs.delete(ref);
      if (deleted.length > 0) logger.info({ part, blobs: deleted.length }, 'deleted orphaned blobs');
      return { found: orphans.length, healed: deleted.length, failures: [] };
    },
  };
}

const anyPart = (): string => randomInt(256).toString(16).padStart(2, '0');
