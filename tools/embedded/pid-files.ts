import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stopOrphan } from './orphan.ts';
import type { StopStep } from './running-part.ts';

const folderOf = (dataDir: string): string => join(dataDir, 'run');

/** Our processes end by themselves when their supervisor is gone; an early signal would cut their shutdown short. */
const STEPS: readonly StopStep[] = [
  { signal: 0, waitMs: 10_000 },
  { signal: 'SIGTERM', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

export async function writePidFile(dataDir: string, name: string, pid: number): Promise<void> {
  await mkdir(folderOf(dataDir), { recursive: true, mode: 0o700 });
  await writeFile(join(folderOf(dataDir), `${name}.pid`), `${pid}\n`, { mode: 0o600 });
}

/** Stops the processes that a killed supervisor left behind on this data folder, which their command lines name. */
export async function stopLeftOverProcesses(dataDir: string): Promise<void> {
  const files = await readdir(folderOf(dataDir)).catch(() => []);
  await Promise.all(
    files.map(async (file) => {
      const pid = Number(await readFile(join(folderOf(dataDir), file), 'utf8').catch(() => ''));
      if (pid > 0) await stopOrphan(pid, [dataDir], STEPS);
      await rm(join(folderOf(dataDir), file), { force: true });
    }),
  );
}
