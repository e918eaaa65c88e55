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
  /** Folder for the data files and the password; made when it is not there. */
  dataDir: string;
  /** Taken when it is free, else another one. */
  port?: number;
  /** Default: `postgres.log` in the data folder. */
  logFile?: string;
  /** Server settings beside and over ours, for tests. */
  settings?: Readonly<Record<string, string>>;
  /** How the programs are run; found out when absent. */
  launcher?: PostgresLauncher;
  /** Gives the start up. */
  signal?: AbortSignal;
}

export interface RunningPostgres extends RunningPart {
  /** Superuser address of the database `exchange`, with its password: a secret. */
  readonly databaseUrl: string;
  readonly port: number;
}

const DATABASE = 'exchange';
/** An init process collects what it inherited within milliseconds, unless the machine is busy; some never do. */
const COLLECTED_TIMEOUT_MS = 5_000;
/** Sessions that came too early are not the reason. */
const REASON = /\b(?:FATAL|PANIC):(?!.*the database system is)|error while loading/;

/** PostgreSQL's own meanings: INT ends sessions and writes a checkpoint (fast), QUIT leaves a recovery to the next start. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGINT', waitMs: 20_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/**
 * Starts PostgreSQL on loopback as a direct child, initialising the folder on first use, and stopping the server
 * that a killed supervisor left on it. Resolves when it answers and the database is there, throws with the server's
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
      `${dataDir} cannot be written. Give this user the right to, or set DATA_DIR to another folder.`,
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
  // PostgreSQL itself takes any process of that number for a running server, even one that has ended and that nobody
  // has collected yet; so the file must go then. The wait also lets sessions of a killed server notice that it is gone.
  if (found === 'stranger' || !(await isCollected(pid))) await rm(pidFile, { force: true });
}

/** False when the number is still taken after a while, by a process that has ended. */
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
