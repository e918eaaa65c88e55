import { access, constants, mkdir, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../lib/free-port.ts';
import { startChild } from './child-process.ts';
import { fileSize, findLogLine } from './log-file.ts';
import { stopOrphan } from './orphan.ts';
import { findPostgresBinaries } from './postgres-binaries.ts';
import { clusterFolder, ensureCluster, ensurePassword } from './postgres-cluster.ts';
import { chooseLauncher, type PostgresLauncher } from './postgres-launcher.ts';
import { ensureDatabase, waitUntilAnswering } from './postgres-ready.ts';
import { POSTGRES_SETTINGS, settingArguments } from './postgres-settings.ts';
import type { RunningPart, StopStep } from './running-part.ts';

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
  /** Superuser address of the database `exchange`, with its password: a secret. */
  readonly databaseUrl: string;
  readonly port: number;
}

const DATABASE = 'exchange';
/** An init process collects orphaned processes within milliseconds unless the machine is busy; some never do. */
const COLLECTED_TIMEOUT_MS = 5_000;
/** Log lines that explain why the server did not start; rejected early sessions are not among them. */
const REASON = /\b(?:FATAL|PANIC):(?!.*the database system is)|error while loading/;

/** PostgreSQL's signals: INT ends all sessions and writes a checkpoint (fast); QUIT requires a recovery at the next start. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGINT', waitMs: 20_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/**
 * Starts PostgreSQL on loopback as a direct child process. Initializes the folder on first use, and first stops a server
 * that a killed supervisor left on it. Resolves when the server answers and the database exists; throws with the server's
 * own reason when it does not start. Only one caller may use a data folder (see stack-lock.ts).
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(options.dataDir);
  await checkAccess(dataDir);
  const launcher = options.launcher ?? (await chooseLauncher(await findPostgresBinaries(), dataDir));
  const password = await ensurePassword(dataDir);
  await ensureCluster(launcher, dataDir, password, { sync: options.settings?.fsync !== 'off' });
  const cluster = clusterFolder(dataDir);
  await stopLeftOverPostgres(dataDir);

  const port = await freePort(options.port);
  const logFile = options.logFile ?? join(dataDir, 'postgres.log');
  const settings = { ...POSTGRES_SETTINGS, ...options.settings };
  const [file = '', ...args] = [
    ...launcher.prefix,
    launcher.binaries.postgres,
    '-D',
    cluster,
    '-p',
    String(port),
    ...settingArguments(settings),
  ];
  const logStart = await fileSize(logFile);
  const child = await startChild({
    file,
    args,
    logFile,
    cwd: dataDir,
    stopSteps: STOP_STEPS,
    ...launcher.user,
  });
  const urlOf = (database: string) => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`;
  try {
    await waitUntilAnswering(urlOf('postgres'), child.exited, options.signal);
    await ensureDatabase(urlOf('postgres'), DATABASE);
  } catch (error) {
    await child.stop();
    const reason =
      (await findLogLine(logFile, logStart, REASON)) ??
      (error instanceof Error ? error.message : String(error));
    throw new Error(`PostgreSQL did not start: ${reason} (log: ${logFile})`);
  }
  return { databaseUrl: urlOf(DATABASE), port, pid: child.pid, exited: child.exited, stop: child.stop };
}

async function checkAccess(dataDir: string): Promise<void> {
  await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK).catch(() => {
    throw new Error(
      `Cannot write to ${dataDir}. Grant this user write access, or set DATA_DIR to another folder.`,
    );
  });
}

/** Stops the server that a killed supervisor left on this data folder. */
export async function stopLeftOverPostgres(dataDir: string): Promise<void> {
  const cluster = clusterFolder(dataDir);
  const pidFile = join(cluster, 'postmaster.pid');
  const pid = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0]);
  if (!Number.isInteger(pid) || pid <= 0) return;
  const found = await stopOrphan(pid, [`-D ${cluster} `], STOP_STEPS);
  // PostgreSQL takes any process with that pid for a running server, even a zombie, so the file must be removed then.
  // The wait also gives sessions of a killed server time to notice that it is gone.
  if (found === 'stranger' || !(await isCollected(pid))) await rm(pidFile, { force: true });
}

/** Returns false when the pid is still in use after the timeout, by a zombie. */
async function isCollected(pid: number): Promise<boolean> {
  for (const deadline = Date.now() + COLLECTED_TIMEOUT_MS; Date.now() < deadline; await sleep(20)) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
  }
  return false;
}
