import { countOf } from '../../lib/count-of.ts';
import { verifyBlobs } from '../platform/blobs/verify-blobs.ts';
import type { AdminResult, AdminTarget } from './command.ts';

const SHOWN_MAX = 20;

/** `blobs verify`: compares the blob store with the rows that refer to it, for example after a restore. */
export async function verifyBlobsCommand({ store, openBlobs }: AdminTarget): Promise<AdminResult> {
  const report = await verifyBlobs({ store, blobs: await openBlobs() });
  const missing = Object.values(report.missing).reduce((sum, count) => sum + count, 0);
  const shown = report.missingBlobs.slice(0, SHOWN_MAX);
  return {
    document: { ...report },
    lines: [
      `Compared ${countOf(report.blobs, 'blob')} with ${countOf(report.references, 'reference')} in PostgreSQL.`,
      missing === 0
        ? 'No blob is missing.'
        : `FAULT: ${countOf(missing, 'blob')} missing (${byTable(report.missing)}). Their content cannot be read; copy them from a ` +
          'backup of the blobs that is at least as new as the one of PostgreSQL:',
      ...shown.map(({ ref, table }) => `  ${ref}  (${table})`),
      ...(missing > shown.length
        ? [`  and ${missing - shown.length} more (with --json: the first 1,000)`]
        : []),
      report.unnamed === 0
        ? 'Rows refer to all other blobs.'
        : `No row refers to ${countOf(report.unnamed, 'blob')}: left by a crash, or written after the backup of PostgreSQL that was ` +
          'restored. Workers delete them a day after they were written.',
    ],
    failed: missing > 0,
  };
}

const byTable = (missing: Readonly<Record<string, number>>): string =>
  Object.entries(missing)
    .map(([table, count]) => `${table} ${count}`)
    .join(', ');
