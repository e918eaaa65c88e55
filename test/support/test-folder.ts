import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandLineOf, stopOrphan } from '../../src/embedded/orphan.ts';

const PREFIX = 'exchange-test-';
const OWNER = 'owner.pid';

/** A folder for the servers of this run. */
export async function makeTestFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), PREFIX));
  await writeFile(join(folder, OWNER), String(process.pid));
  await mkdir(join(folder, 'postgres'), { mode: 0o700 });
  await mkdir(join(folder, 'temporal'), { mode: 0o700 });
  return folder;
}

/** Ends the servers and removes the folders of test runs that were killed. */
export async function sweepTestFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue;
    const folder = join(tmpdir(), name);
    const owner = Number(await readFile(join(folder, OWNER), 'utf8').catch(() => ''));
    // Without an owner it is being made this moment, or somebody else's.
    if (owner <= 0 || (await commandLineOf(owner)) !== undefined) continue;
    for (const pidFile of ['postgres/cluster/postmaster.pid', 'temporal/temporal.pid']) {
      const text = await readFile(join(folder, pidFile), 'utf8').catch(() => '');
      await stopOrphan(Number(text.split('\n')[0]), [folder], [{ signal: 'SIGKILL', waitMs: 5_000 }]);
    }
    await rm(folder, { recursive: true, force: true });
  }
}
