import type { Logger } from '../../../lib/logger.ts';
import type {
  BlobStore,
  ListedBlob,
} from '../../../shared/blobs/blob-store.ts';
import type { Store } from '../database/database.ts';
import type { Recovery } from '../recovery/recovery.ts';
import { findUnnamedBlobs } from './named-blobs.ts';

/**
 * Far longer than the time between writing a blob and committing the row that
 * refers to it.
 */
const ORPHAN_AGE_MS = 24 * 60 * 60_000;
/** Blobs checked in one round. */
const LOOKED_MAX = 5_000;
/** References checked in one statement. */
const BATCH = 1_000;
/**
 * The store has a part for each two hex digits with which a blob's name can
 * begin.
 */
const FIRST_PART = '00';
const LAST_PART = 'ff';
/**
 * At least this many orphans, if they are more than half of the blobs, cannot
 * be explained by crashes.
 */
const SUSPICIOUS_FROM = 20;

interface OrphanSweepDeps {
  store: Pick<Store, 'asSystem'>;
  blobs: Pick<BlobStore, 'list' | 'delete'>;
  logger: Logger;
}

/**
 * Deletes orphans: blobs without a row, because the process crashed between
 * writing the blob and committing the row. Each round checks at most
 * `LOOKED_MAX` blobs of one part of the store, and the next round continues
 * there or with the next part, so that all parts are checked in 256 rounds if
 * none has more blobs than that. If most of the blobs checked are orphans, none
 * is deleted: then the database is probably the wrong one, or an old one.
 */
export function orphanSweep({
  store,
  blobs,
  logger,
}: OrphanSweepDeps): Recovery {
  let open: { part: string; listing: AsyncIterator<ListedBlob> } | undefined;

  /**
   * The next blobs of this part that are old enough, and whether they are its
   * last.
   */
  async function nextBlobs(
    part: string,
    signal: AbortSignal,
  ): Promise<{ refs: string[]; isLast: boolean }> {
    // Another worker may have checked the parts between.
    const listing =
      open?.part === part
        ? open.listing
        : blobs.list(part)[Symbol.asyncIterator]();
    open = undefined;
    const writtenBefore = Date.now() - ORPHAN_AGE_MS;
    const refs: string[] = [];
    for (let looked = 0; looked < LOOKED_MAX && !signal.aborted; looked++) {
      const { done, value } = await listing.next();
      if (done === true) return { refs, isLast: true };
      if (value.writtenAt.getTime() < writtenBefore) refs.push(value.ref);
    }
    open = { part, listing };
    return { refs, isLast: false };
  }

  return {
    name: 'blobs that no row names',
    deletes: true,
    async takeUp({ limit, signal, cursor: part = FIRST_PART }) {
      const { refs, isLast } = await nextBlobs(part, signal);
      const cursor = isLast ? partAfter(part) : part;
      const orphans: string[] = [];
      for (let start = 0; start < refs.length; start += BATCH) {
        const batch = refs.slice(start, start + BATCH);
        orphans.push(
          ...(await store.asSystem((tx) => findUnnamedBlobs(tx, batch))),
        );
      }
      if (
        orphans.length >= SUSPICIOUS_FROM &&
        orphans.length > refs.length / 2
      ) {
        logger.error(
          { part, looked: refs.length, orphans: orphans.length },
          'no row refers to most blobs of this part; nothing was deleted. Check that database and blob store belong together',
        );
        return { found: orphans.length, healed: 0, failures: [], cursor };
      }
      const deleted = orphans.slice(0, limit);
      for (const ref of deleted) await blobs.delete(ref);
      if (deleted.length > 0)
        logger.info({ part, blobs: deleted.length }, 'deleted orphaned blobs');
      return {
        found: orphans.length,
        healed: deleted.length,
        failures: [],
        cursor,
      };
    },
  };
}

/** Undefined: the first one. */
const partAfter = (part: string): string | undefined =>
  part === LAST_PART
    ? undefined
    : (Number.parseInt(part, 16) + 1).toString(16).padStart(2, '0');
