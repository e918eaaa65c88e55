import { chown, cp, lstat, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError, runCommand } from '../lib/run-command.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';

/** How PostgreSQL's programs are run on this machine; PostgreSQL refuses to run as root. */
export interface PostgresLauncher {
  readonly binaries: PostgresBinaries;
  /** Put before a program and its arguments. */
  readonly prefix: readonly string[];
  /** Another user to run as; undefined is ourselves. */
  readonly user?: SystemUser;
}

export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

const PROBE_TIMEOUT_MS = 10_000;

/**
 * Not root: as we are. Root: inside a user namespace in which we are called by another number, which reaches every
 * folder that root reaches. Where namespaces are refused: as another user, with the binaries copied to a place that
 * user can reach. Throws an error that offers DATABASE_URL when that user cannot reach the data folder either.
 */
export async function chooseLauncher(binaries: PostgresBinaries, dataDir: string): Promise<PostgresLauncher> {
  if (process.getuid?.() !== 0) return { binaries, prefix: [] };
  const user = await otherUser();
  return (await inUserNamespace(binaries, user)) ?? asOtherUser(binaries, user, dataDir);
}

/** Whether `chooseLauncher` will have to run PostgreSQL as another user, who must then reach the data folder. */
export async function runsAsOtherUser(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return (await inUserNamespace(await findPostgresBinaries(), await otherUser())) === undefined;
}

async function inUserNamespace(
  binaries: PostgresBinaries,
  user: SystemUser,
): Promise<PostgresLauncher | undefined> {
  const prefix = ['unshare', '--user', `--map-user=${user.uid}`, `--map-group=${user.gid}`];
  const [file = '', ...args] = [...prefix, binaries.postgres, '--version'];
  return runCommand(file, args, { timeoutMs: PROBE_TIMEOUT_MS }).then(
    () => ({ binaries, prefix }),
    () => undefined,
  );
}

/** The way without user namespaces; exported for its test. */
export async function asOtherUser(
  original: PostgresBinaries,
  user: SystemUser,
  dataDir: string,
): Promise<PostgresLauncher> {
  const options = { ...user, timeoutMs: PROBE_TIMEOUT_MS, cwd: '/' };
  const reachable = await runCommand(original.postgres, ['--version'], options).then(
    () => true,
    () => false,
  );
  const binaries = reachable ? original : await copyBinaries(original);
  try {
    await chown(dataDir, user.uid, user.gid);
    await runCommand('test', ['-w', dataDir], options);
    await runCommand(binaries.postgres, ['--version'], options);
  } catch (error) {
    const reason = error instanceof CommandError ? `user ${user.uid} cannot use ${dataDir}` : String(error);
    throw new Error(
      `PostgreSQL does not run as root, and this machine allows no user namespaces (${reason}). ` +
        'Start as a normal user, set DATA_DIR to a folder that every user can reach, ' +
        'or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }
  return { binaries, prefix: [], user };
}

async function copyBinaries(original: PostgresBinaries): Promise<PostgresBinaries> {
  const version = (await runCommand(original.postgres, ['--version'], { timeoutMs: PROBE_TIMEOUT_MS }))
    .trim()
    .replaceAll(/[^\w.]+/g, '-');
  const folder = join(tmpdir(), `exchange-${version}`);
  const found = await lstat(folder).catch(() => undefined);
  if (found === undefined) {
    const incoming = `${folder}.${process.pid}`;
    await mkdir(incoming, { mode: 0o755 });
    await cp(original.folder, incoming, { recursive: true, verbatimSymlinks: true });
    await rename(incoming, folder).catch(() => rm(incoming, { recursive: true, force: true }));
  } else if (!found.isDirectory() || found.uid !== 0) {
    // The temporary folder is everybody's: programs that another user put there are not run.
    throw new Error(`${folder} does not belong to root; remove it and try again.`);
  }
  return { folder, initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') };
}

/** A user other than root that this machine knows by name, for initdb asks for the name of its own. */
async function otherUser(): Promise<SystemUser> {
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0);
  const chosen = users.find(({ name }) => name === 'nobody') ?? users[0];
  if (chosen === undefined)
    throw new Error('PostgreSQL does not run as root, and there is no other user. Set DATABASE_URL instead.');
  return { uid: chosen.uid, gid: chosen.gid };
}
