import { execFile } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fillCache, findCached } from '../../src/temporal/server-binary.ts';

const run = promisify(execFile);
const FILE = 'promtool';

/**
 * Returns the path of Prometheus' promtool: the one on the PATH, or from
 * Debian's package; else why it cannot be had here.
 */
export async function findPromtool(): Promise<
  { path: string } | { missing: string }
> {
  if (await run(FILE, ['--version']).catch(() => undefined))
    return { path: FILE };
  try {
    return {
      path: (await findCached(FILE)) ?? (await fillCache(FILE, fromDebian)),
    };
  } catch {
    return {
      missing:
        'promtool is not on the PATH, and the package "prometheus" cannot be fetched',
    };
  }
}

/** Unpacks the package without installing it: that would start a server. */
async function fromDebian(folder: string): Promise<string> {
  await run('apt-get', ['download', '-qq', 'prometheus'], {
    cwd: folder,
    timeout: 240_000,
  });
  const file = (await readdir(folder)).find((name) => name.endsWith('.deb'));
  if (file === undefined) throw new Error('apt-get has downloaded nothing');
  await run('dpkg', ['-x', file, '.'], { cwd: folder });
  return join(folder, 'usr/bin', FILE);
}
