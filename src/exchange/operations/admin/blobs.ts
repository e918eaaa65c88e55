import { counted } from '../../../lib/counted.ts';
import {
  type BlobCopyReport,
  COPY_PARTS,
  copyBlobs,
} from '../../../shared/blobs/copy-blobs.ts';
import { openSealedStorage } from '../../../shared/blobs/open-blob-store.ts';
import { verifyBlobs } from '../../platform/blobs/verify-blobs.ts';
import {
  type AdminCommand,
  AdminError,
  type AdminResult,
  existingStore,
} from './command.ts';

const SHOWN_MAX = 20;

/**
 * `blobs verify`: compares the blob store with the rows that refer to it, for
 * example after a restore.
 */
export const verifyBlobsCommand: AdminCommand<
  [],
  'store' | 'openBlobs'
> = async ({ store, openBlobs }) => {
  const report = await verifyBlobs({ store, blobs: await openBlobs() });
  const missing = Object.values(report.missing).reduce(
    (sum, count) => sum + count,
    0,
  );
  const shown = report.missingBlobs.slice(0, SHOWN_MAX);
  return {
    document: { ...report },
    lines: [
      `Compared ${counted(report.blobs, 'blob')} with ${counted(report.references, 'reference')} in PostgreSQL.`,
      missing === 0
        ? 'No blob is missing.'
        : `FAULT: ${counted(missing, 'blob')} missing (${byTable(report.missing)}). Their content cannot be read; copy them from a ` +
          'backup of the blobs that is at least as new as the one of PostgreSQL:',
      ...shown.map(({ ref, table }) => `  ${ref}  (${table})`),
      ...(missing > shown.length
        ? [
            `  and ${missing - shown.length} more (with --json: the first 1,000)`,
          ]
        : []),
      report.unnamed === 0
        ? 'Rows refer to all other blobs.'
        : `No row refers to ${counted(report.unnamed, 'blob')}: left by a crash, or written after the backup of PostgreSQL that was ` +
          'restored. Workers delete them a day after they were written.',
    ],
    failed: missing > 0,
  };
};

const byTable = (missing: Readonly<Record<string, number>>): string =>
  Object.entries(missing)
    .map(([table, count]) => `${table} ${count}`)
    .join(', ');

export interface CopyBlobsOptions {
  from: string;
  to: string;
  dryRun?: boolean;
  verify?: boolean;
}

/** How often a long copy reports its progress. */
const PROGRESS_MS = 10_000;

/**
 * `blobs copy`: moves a blob store, or the orchestrator's files, to another
 * folder or bucket. Needs neither database nor keys.
 */
export async function copyBlobsCommand(
  {
    from,
    to,
    dryRun: isDryRun = false,
    verify: comparesContent = false,
  }: CopyBlobsOptions,
  note: (line: string) => void,
): Promise<AdminResult> {
  let notedAt = Date.now();
  const report = await copyBlobs({
    from: await openSealedStorage(
      await existingStore(from, '--from'),
      '--from',
    ),
    to: await openSealedStorage(to, '--to'),
    isDryRun,
    comparesContent,
    onPart(part, { copied, present }) {
      if (Date.now() - notedAt < PROGRESS_MS) return;
      notedAt = Date.now();
      note(
        `${Math.floor((part / COPY_PARTS) * 100)} %: ${copied} copied, ${present} were there already`,
      );
    },
  });
  const { different, failed } = report;
  const blobs =
    report.copied +
    report.present +
    report.deletedMeanwhile +
    different +
    failed;
  if (blobs === 0)
    throw new AdminError(
      `There are no blobs at ${from}; check the address (--from)`,
    );
  return {
    document: { from, to, dryRun: isDryRun, blobs, ...report },
    lines: copyLines(report, isDryRun, comparesContent),
    failed: different + failed > 0,
  };
}

function copyLines(
  report: BlobCopyReport,
  isDryRun: boolean,
  comparesContent: boolean,
): string[] {
  const { copied, copiedBytes, present, deletedMeanwhile, different, failed } =
    report;
  return [
    `${counted(copied, 'blob')} (${(copiedBytes / 1e6).toFixed(1)} MB) ${isDryRun ? 'would be copied' : 'copied'}; ` +
      `${present} were there already${comparesContent ? ', with the same content' : ''}.`,
    ...(deletedMeanwhile === 0
      ? []
      : [
          `${counted(deletedMeanwhile, 'blob')} deleted by the running system meanwhile.`,
        ]),
    ...(different === 0
      ? []
      : [
          `FAULT: ${counted(different, 'blob')} with another content at --to, not replaced. Find out which copy is damaged, ` +
            'delete it, and run the command again:',
          ...report.differentBlobs.slice(0, SHOWN_MAX).map((ref) => `  ${ref}`),
        ]),
    ...(failed === 0
      ? []
      : [
          `FAULT: ${counted(failed, 'blob')} not copied. Correct the cause and run the command again:`,
          ...report.failedBlobs
            .slice(0, SHOWN_MAX)
            .map(({ ref, reason }) => `  ${ref}: ${reason}`),
        ]),
  ];
}
