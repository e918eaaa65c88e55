import { randomBytes } from 'node:crypto';
import { chown, lstat, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../../src/lib/run-command.ts';
import type { PostgresLauncher } from './postgres-launcher.ts';

const INITDB_TIMEOUT_MS = 120_000;
const UNFINISHED = 'init-';

/** The folder of the data files inside our own folder. */
export const clusterFolder = (dataDir: string): string => join(dataDir, 'cluster');

/**
 * Initializes the database folder if there is none. initdb works in a temporary folder, which is renamed once it is
 * complete; temporary folders of killed runs are removed.
 */
export async function ensureCluster(
  launcher: PostgresLauncher,
  dataDir: string,
  password: string,
  { sync = true }: { sync?: boolean } = {},
): Promise<void> {
  for (const name of await readdir(dataDir))
    if (name.startsWith(UNFINISHED)) await rm(join(dataDir, name), { recursive: true, force: true });
  if ((await lstat(clusterFolder(dataDir)).catch(() => undefined)) !== undefined) return;

  const work = await mkdtemp(join(dataDir, UNFINISHED));
  const pgdata = join(work, 'cluster');
  const passwordFile = join(work, 'password');
  await mkdir(pgdata, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (launcher.user !== undefined)
    for (const path of [work, pgdata, passwordFile]) await chown(path, launcher.user.uid, launcher.user.gid);
  const [file = '', ...args] = [
    ...launcher.prefix,
    launcher.binaries.initdb,
    `--pgdata=${pgdata}`,
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--data-checksums',
    ...(sync ? [] : ['--no-sync']),
  ];
  await runCommand(file, args, { ...launcher.user, cwd: dataDir, timeoutMs: INITDB_TIMEOUT_MS });
  await rename(pgdata, clusterFolder(dataDir));
  await rm(work, { recursive: true, force: true });
}

/** Returns the superuser's password. It is generated once and stored beside the data, readable by the owner only. */
export async function ensurePassword(dataDir: string): Promise<string> {
  const path = join(dataDir, 'password');
  const known = await readFile(path, 'utf8').catch(() => '');
  if (known !== '') return known;
  const password = randomBytes(24).toString('base64url');
  await writeFile(`${path}.new`, password, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return password;
}
