import { randomBytes } from 'node:crypto';
import {
  access,
  chown,
  constants,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../../src/lib/free-port.ts';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  type RunningPart,
  type StopStep,
  startServing,
  stopOrphan,
} from './child-process.ts';
import {
  chooseLauncher,
  findPostgresBinaries,
  type PostgresLauncher,
} from './postgres-launcher.ts';
import { waitUntil } from './wait-until.ts';

export interface PostgresOptions {
  /** Folder of the data files and the password; created if needed. */
  dataDir: string;
  /** Preferred port; another one is used when it is taken. */
  port?: number;
  /** Default: `postgres.log` in the data folder. */
  logFile?: string;
  /** Server settings that extend or override ours, for tests. */
  settings?: Readonly<Record<string, string>>;
  /** How the programs are run; default: chosen for this machine. */
  launcher?: PostgresLauncher;
  /** Aborts the start. */
  signal?: AbortSignal;
}

export interface RunningPostgres extends RunningPart {
  /**
   * Superuser address of the database `exchange`, with its password: a secret.
   */
  readonly databaseUrl: string;
  readonly port: number;
}

const DATABASE = 'exchange';
/**
 * An init process collects orphaned processes within milliseconds unless the
 * machine is busy; some never do.
 */
const COLLECTED_TIMEOUT_MS = 5_000;
/**
 * Log lines that explain why the server did not start; rejected early sessions
 * are not among them.
 */
const REASON =
  /\b(?:FATAL|PANIC):(?!.*the database system is)|error while loading/;

/**
 * PostgreSQL's signals: INT ends all sessions and writes a checkpoint (fast);
 * QUIT requires a recovery at the next start.
 */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGINT', waitMs: 20_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/**
 * Starts PostgreSQL on loopback as a direct child process. Initializes the
 * folder on first use, and first stops a server that a killed supervisor left
 * on it. Resolves when the server answers and the database exists; throws with
 * the server's own reason when it does not start. Only one caller may use a
 * data folder (see stack-lock.ts).
 */
export async function startPostgres(
  options: PostgresOptions,
): Promise<RunningPostgres> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(options.dataDir);
  await checkAccess(dataDir);
  const launcher =
    options.launcher ??
    (await chooseLauncher(await findPostgresBinaries(), dataDir));
  const password = await ensurePassword(dataDir);
  await ensureCluster(launcher, dataDir, password, {
    sync: options.settings?.fsync !== 'off',
  });
  const cluster = clusterFolder(dataDir);
  await stopLeftOverPostgres(dataDir);

  const port = await freePort(options.port);
  const logFile = options.logFile ?? join(dataDir, 'postgres.log');
  const command = [
    ...launcher.prefix,
    launcher.binaries.postgres,
    '-D',
    cluster,
    '-p',
    String(port),
    ...Object.entries({
      ...(await ownSettings()),
      ...options.settings,
    }).flatMap((setting) => ['-c', setting.join('=')]),
  ];
  const [file = '', ...args] = command;
  const urlOf = (database: string) =>
    `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  const child = await startServing({
    name: 'PostgreSQL',
    file,
    args,
    logFile,
    cwd: dataDir,
    stopSteps: STOP_STEPS,
    ...launcher.user,
    serves: async (_, signal) => {
      const refusal = await waitUntil(
        'it answers',
        () => answerOf(urlOf('postgres')),
        {
          timeoutMs: READY_TIMEOUT_MS,
          signal,
        },
      );
      if (refusal !== 'ready') throw refusal;
      await ensureDatabase(urlOf('postgres'), DATABASE);
    },
    reason: REASON,
    signal: options.signal,
  });
  return {
    databaseUrl: urlOf(DATABASE),
    port,
    pid: child.pid,
    exited: child.exited,
    stop: child.stop,
  };
}

async function checkAccess(dataDir: string): Promise<void> {
  await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).catch(
    () => {
      throw new Error(
        `Cannot write to ${dataDir}. Grant this user write access, or set DATA_DIR to another folder.`,
      );
    },
  );
}

/** Stops the server that a killed supervisor left on this data folder. */
export async function stopLeftOverPostgres(dataDir: string): Promise<void> {
  const cluster = clusterFolder(dataDir);
  const pidFile = join(cluster, 'postmaster.pid');
  const pid = Number(
    (await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0],
  );
  if (!Number.isInteger(pid) || pid <= 0) return;
  const found = await stopOrphan(pid, [`-D ${cluster} `], STOP_STEPS);
  // PostgreSQL takes any process with that pid for a running server, even a
  // zombie, so the file must be removed then. The wait also gives sessions of a
  // killed server time to notice that it is gone.
  if (found === 'stranger' || !(await isCollected(pid)))
    await rm(pidFile, { force: true });
}

/**
 * Returns false when the pid is still in use after the timeout, by a zombie.
 */
async function isCollected(pid: number): Promise<boolean> {
  for (
    const deadline = Date.now() + COLLECTED_TIMEOUT_MS;
    Date.now() < deadline;
    await sleep(20)
  ) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
  }
  return false;
}

/**
 * Long enough for the recovery after a kill, which replays up to max_wal_size
 * of the write-ahead log.
 */
const READY_TIMEOUT_MS = 120_000;
const DUPLICATE_DATABASE = '42P04';
const WRONG_PASSWORD = '28P01';

/**
 * `ready`, or the error when the server rejects our password. Rejects while it
 * does not answer.
 */
const answerOf = (url: string): Promise<'ready' | Error> =>
  withClient(url, async () => 'ready' as const).catch((error: Error) => {
    if (thrownCode(error) === WRONG_PASSWORD) return error;
    throw error;
  });

/** Creates the database unless it exists. */
async function ensureDatabase(url: string, name: string): Promise<void> {
  await withClient(url, async (client) => {
    const { rowCount } = await client.query(
      'SELECT 1 FROM pg_database WHERE datname = $1',
      [name],
    );
    if (rowCount !== 0) return;
    await client
      .query(`CREATE DATABASE ${pg.escapeIdentifier(name)}`)
      .catch((error: unknown) => {
        if (thrownCode(error) !== DUPLICATE_DATABASE) throw error;
      });
  });
}

async function withClient<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: 5_000,
  });
  // Raised when an idle session is cut off; the next query fails anyway.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

const thrownCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error
    ? error.code
    : undefined;

/**
 * Read here and passed on, because the server may run as a user who cannot read
 * our files.
 */
async function ownSettings(): Promise<Record<string, string>> {
  const text = await readFile(
    new URL('postgresql.conf', import.meta.url),
    'utf8',
  );
  return Object.fromEntries(
    [...text.matchAll(/^(\w+) = '(.*)'$/gm)].map(([, name, value]) => [
      name,
      value,
    ]),
  );
}

const INITDB_TIMEOUT_MS = 120_000;
const UNFINISHED = 'init-';

/** The folder of the data files inside our own folder. */
export const clusterFolder = (dataDir: string): string =>
  join(dataDir, 'cluster');

/**
 * Initializes the database folder if there is none. initdb works in a temporary
 * folder, which is renamed once it is complete; temporary folders of killed
 * runs are removed.
 */
async function ensureCluster(
  launcher: PostgresLauncher,
  dataDir: string,
  password: string,
  { sync = true }: { sync?: boolean } = {},
): Promise<void> {
  for (const name of await readdir(dataDir))
    if (name.startsWith(UNFINISHED))
      await rm(join(dataDir, name), { recursive: true, force: true });
  if (
    (await lstat(clusterFolder(dataDir)).catch(() => undefined)) !== undefined
  )
    return;

  const work = await mkdtemp(join(dataDir, UNFINISHED));
  const pgdata = join(work, 'cluster');
  const passwordFile = join(work, 'password');
  await mkdir(pgdata, { mode: 0o700 });
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (launcher.user !== undefined)
    for (const path of [work, pgdata, passwordFile])
      await chown(path, launcher.user.uid, launcher.user.gid);
  const command = [
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
  const [file = '', ...args] = command;
  await runCommand(file, args, {
    ...launcher.user,
    cwd: dataDir,
    timeoutMs: INITDB_TIMEOUT_MS,
  });
  await rename(pgdata, clusterFolder(dataDir));
  await rm(work, { recursive: true, force: true });
}

/**
 * Returns the superuser's password. It is generated once and stored beside the
 * data, readable by the owner only.
 */
async function ensurePassword(dataDir: string): Promise<string> {
  const path = join(dataDir, 'password');
  const known = await readFile(path, 'utf8').catch(() => '');
  if (known !== '') return known;
  const password = randomBytes(24).toString('base64url');
  await writeFile(`${path}.new`, password, { mode: 0o600 });
  await rename(`${path}.new`, path);
  return password;
}
