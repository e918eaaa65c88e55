import { mkdir, statfs } from 'node:fs/promises';
import { getTemporalCli } from '../../src/temporal/server-binary.ts';

/** For PostgreSQL's files and its log, and for some work. */
const FREE_BYTES_MIN = 300_000_000;

/** Checks what the parts need of this machine, before any of them starts. Throws an error that names the remedy. */
export async function checkMachine(
  dataDir: string,
  { needsTemporal }: { needsTemporal: boolean },
): Promise<void> {
  await checkDisk(dataDir);
  // It is fetched at the first start, which may fail; then nothing else needs to be stopped again.
  if (needsTemporal) await getTemporalCli();
}

/** Exported for its test. */
export async function checkDisk(dataDir: string, bytesMin = FREE_BYTES_MIN): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize >= bytesMin) return;
  const megabytes = (bytes: number) => Math.floor(bytes / 1_000_000);
  throw new Error(
    `The disk of ${dataDir} has ${megabytes(bavail * bsize)} MB free, and ${megabytes(bytesMin)} MB are needed. ` +
      'Free some, or set DATA_DIR (for the demo: TMPDIR) to a folder on another disk.',
  );
}
