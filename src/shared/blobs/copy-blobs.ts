import { createHash } from 'node:crypto';
import { mapAtMost } from '../../lib/at-most.ts';
import {
  BLOB_KINDS,
  BlobNotFoundError,
  type ListedBlob,
} from './blob-store.ts';
import type { SealedStorage } from './encrypted-blob-store.ts';

const AT_A_TIME = 8;
/**
 * With more failures than this the disk, the server or the access is at fault,
 * not single blobs.
 */
const FAILURES_MAX = 20;
const LISTED_MAX = 100;
/** The parts of a store by the first two hex digits of the names. */
export const COPY_PARTS = 256;

export interface BlobCopy {
  from: SealedStorage;
  to: SealedStorage;
  /** Only counts what would be copied. */
  isDryRun: boolean;
  /** Reads every blob again on both sides, instead of comparing sizes only. */
  comparesContent: boolean;
  onPart(part: number, report: BlobCopyReport): void;
}

export interface BlobCopyReport {
  copied: number;
  copiedBytes: number;
  /** Blobs that were there already. */
  present: number;
  /**
   * Blobs that were deleted between their listing and their turn: the system is
   * running.
   */
  deletedMeanwhile: number;
  /** Blobs with another content in `to`. They are not replaced. */
  different: number;
  differentBlobs: string[];
  failed: number;
  failedBlobs: { ref: string; reason: string }[];
}

/**
 * Copies all blobs to another storage, encrypted as they are. May be repeated:
 * a blob never changes, so one that is there in its full size is not copied
 * again. Memory does not grow with the number of blobs.
 */
export async function copyBlobs(copy: BlobCopy): Promise<BlobCopyReport> {
  const report: BlobCopyReport = {
    copied: 0,
    copiedBytes: 0,
    present: 0,
    deletedMeanwhile: 0,
    different: 0,
    differentBlobs: [],
    failed: 0,
    failedBlobs: [],
  };
  const parts = Array.from({ length: COPY_PARTS }, (_, part) =>
    part.toString(16).padStart(2, '0'),
  );
  let done = 0;
  // In a small store the lists take most of the time: the parts go side by
  // side, each blob of a part after the other.
  await mapAtMost(parts, AT_A_TIME, async (digits) => {
    for (const kind of BLOB_KINDS) {
      const blobs: ListedBlob[] = [];
      for await (const blob of copy.from.list(kind, digits)) blobs.push(blob);
      if (blobs.length === 0) continue;
      const there = new Map<string, number>();
      for await (const { ref, sizeBytes } of copy.to.list(kind, digits))
        there.set(ref, sizeBytes);
      for (const blob of blobs)
        count(
          report,
          blob,
          await copyBlob(copy, blob, there.get(blob.ref)).catch(failureOf),
        );
    }
    done += 1;
    copy.onPart(done, report);
  });
  return report;
}

type Outcome =
  | 'copied'
  | 'present'
  | 'different'
  | 'deleted'
  | { failure: string };

async function copyBlob(
  { from, to, isDryRun, comparesContent }: BlobCopy,
  { ref, sizeBytes }: ListedBlob,
  sizeThere: number | undefined,
): Promise<Outcome> {
  const isSame = async (size: number) =>
    (await digestOf(to, ref, size)) === (await digestOf(from, ref, size));
  if (sizeThere === sizeBytes)
    return !comparesContent || (await isSame(sizeBytes))
      ? 'present'
      : 'different';
  if (sizeThere !== undefined) {
    // What a killed copy left, or the copy of a blob that was still being
    // written, is the beginning of the blob.
    if (sizeThere > sizeBytes || !(await isSame(sizeThere))) return 'different';
    if (!isDryRun) await to.delete(ref);
  }
  if (isDryRun) return 'copied';
  const content = await from.read(ref);
  try {
    await to.write(ref, content);
  } finally {
    content.destroy();
  }
  return !comparesContent || (await isSame(sizeBytes)) ? 'copied' : 'different';
}

/** The digest of the first bytes of a blob. */
async function digestOf(
  storage: SealedStorage,
  ref: string,
  endBytes: number,
): Promise<string> {
  const hash = createHash('sha256');
  let seen = 0;
  const content = await storage.read(ref);
  for await (const part of content as AsyncIterable<Buffer>) {
    hash.update(part.subarray(0, endBytes - seen));
    seen += part.length;
    if (seen >= endBytes) break;
  }
  return hash.digest('hex');
}

const failureOf = (error: unknown): Outcome =>
  error instanceof BlobNotFoundError
    ? 'deleted'
    : {
        failure:
          error instanceof Error
            ? error.message || error.name
            : 'unknown error',
      };

function count(
  report: BlobCopyReport,
  { ref, sizeBytes }: ListedBlob,
  outcome: Outcome,
): void {
  if (outcome === 'present') report.present++;
  else if (outcome === 'deleted') report.deletedMeanwhile++;
  else if (outcome === 'copied') {
    report.copied++;
    report.copiedBytes += sizeBytes;
  } else if (outcome === 'different') {
    report.different++;
    if (report.differentBlobs.length < LISTED_MAX)
      report.differentBlobs.push(ref);
  } else {
    report.failed++;
    report.failedBlobs.push({ ref, reason: outcome.failure });
    if (report.failed > FAILURES_MAX)
      throw new Error(
        `Stopped after ${report.failed} failures, the last one: ${outcome.failure}. What was copied stays; correct the cause and run the same command again`,
      );
  }
}
