import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemEnvironment } from '../../src/config.ts';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import type { ReadyMessage } from '../../src/lib/exit-with-parent.ts';
import { fileSize, findLogLine } from './log-file.ts';
import { describeExit, type ExitStatus, type RunningPart, type StopStep } from './running-part.ts';

export interface ChildOptions {
  file: string;
  args: readonly string[];
  /** File to which standard output and standard error are appended (mode 0600). */
  logFile: string;
  stopSteps: readonly StopStep[];
  /** The child's whole environment; default: only the variables of the operating system. */
  env?: Record<string, string>;
  cwd?: string;
  uid?: number | undefined;
  gid?: number | undefined;
  /** Opens an IPC channel (Node.js children only). */
  ipc?: boolean;
}

export interface RunningChild extends RunningPart {
  readonly process: ChildProcess;
}

/** Starts a process of the stack. Throws when it cannot be started at all (no such program, no permission). */
export async function startChild(options: ChildOptions): Promise<RunningChild> {
  const { file, args, logFile, stopSteps, ipc = false, env = systemEnvironment(), ...rest } = options;
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, 'a', 0o600);
  const stdio: StdioOptions = ipc ? ['ignore', log, log, 'ipc'] : ['ignore', log, log];
  // In its own process group: Ctrl-C in the terminal reaches only the supervisor, which stops the parts in order.
  const child = withUmask(() => spawn(file, [...args], { ...rest, env, stdio, detached: true }));
  closeSync(log);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await once(child, 'spawn');
  // From now on, every failure shows as the exit of the process.
  child.on('error', () => undefined);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${file} did not start`);
  return { process: child, pid, exited, stop: () => stopProcess(pid, stopSteps, exited) };
}

/** Files that the process creates are readable by the owner only, whatever mode it requests. */
function withUmask<T>(start: () => T): T {
  const before = process.umask(0o077);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/** Sends the signals of the steps one after the other until the process has ended. */
export async function stopProcess(
  pid: number,
  steps: readonly StopStep[],
  exited: Promise<unknown>,
): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (!sendSignal(pid, signal)) return;
    if (await resolvesWithin(exited, waitMs)) return;
  }
}

/** Returns false when the process no longer exists. */
function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

async function resolvesWithin(promise: Promise<unknown>, waitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), waitMs);
  });
  try {
    return await Promise.race([promise.then(() => true as const), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** A path of this project, or a file: URL. */
export type EntryPoint = `src/${string}.ts` | `tools/${string}.ts` | `file:${string}`;

interface NodeProcessOptions {
  /** Such as `gateway`; used for the command line, the pid file and the log file. */
  name: string;
  /** The stack's data folder. It is part of the command line, so that a later run recognizes its own processes. */
  dataDir: string;
  /** Entry point, such as `src/gateway.ts`, or a file: URL. It must call exitWithParent(), and reportReady() once it serves. */
  entry: EntryPoint;
  /** The environment of the process, in addition to the operating system's variables. */
  env: Readonly<Record<string, string>>;
  /** Arguments for Node.js itself, such as `--max-old-space-size=512`. */
  nodeArgs?: readonly string[];
  readyTimeoutMs?: number;
  signal?: AbortSignal;
}

interface RunningNodeProcess extends RunningPart {
  /** What the process reported, such as its address. */
  readonly info: Readonly<Record<string, unknown>>;
}

const PROJECT = new URL('../../', import.meta.url);
/** Long enough to bundle the workflows on a busy machine. */
const READY_TIMEOUT_MS = 240_000;
/** glibc keeps freed memory in one arena per thread; with two arenas a worker uses some 40 MiB less. */
const FEW_ARENAS = { MALLOC_ARENA_MAX: '2' };
/** Longer than the graceful shutdown of runProcess. */
const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGTERM', waitMs: 32_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/** Starts one of our entry points. Resolves when it reports that it is ready; throws with the reason when it ends before. */
export async function startNodeProcess(options: NodeProcessOptions): Promise<RunningNodeProcess> {
  const { name, entry, env, dataDir, nodeArgs = [], readyTimeoutMs = READY_TIMEOUT_MS, signal } = options;
  const logFile = join(dataDir, 'logs', `${name}.log`);
  const logStart = await fileSize(logFile);
  const child = await startChild({
    file: process.execPath,
    args: [
      ...nodeArgs,
      ...['run.mjs', entry].map((path) => fileURLToPath(new URL(path, PROJECT))),
      ...['--stack', dataDir, '--part', name],
    ],
    env: { ...FEW_ARENAS, ...systemEnvironment(), ...env },
    cwd: fileURLToPath(PROJECT),
    logFile,
    stopSteps: STOP_STEPS,
    ipc: true,
  });
  await writePidFile(dataDir, name, child.pid);
  try {
    const info = await Promise.race([
      readyInfo(child.process, readyTimeoutMs, signal),
      child.exited.then((status) => {
        throw new Error(`it ${describeExit(status)}`);
      }),
    ]);
    return { pid: child.pid, exited: child.exited, stop: child.stop, info };
  } catch (error) {
    await child.stop();
    const reason = (await loggedReason(logFile, logStart)) ?? (error instanceof Error ? error.message : '');
    throw new Error(`The ${name} did not start: ${reason} (log: ${logFile})`);
  }
}

function readyInfo(
  child: ChildProcess,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not ready after ${timeoutMs / 1000} s`)), timeoutMs);
    const onAbort = () => reject(new Error('stopped while starting'));
    signal?.addEventListener('abort', onAbort, { once: true });
    child.on('message', (message: ReadyMessage) => {
      if (message.type !== 'ready') return;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      resolve(message.info);
    });
    child.once('exit', () => clearTimeout(timer));
  });
}

/** The last error that the process logged, or the configuration error that it printed. */
async function loggedReason(logFile: string, start: number): Promise<string | undefined> {
  const line = await findLogLine(logFile, start, /"level":(50|60)|^\w*Error\b|^ {2}[A-Z_]+: |configuration/);
  if (line === undefined || !line.startsWith('{')) return line;
  const { msg, err } = JSON.parse(line) as { msg?: string; err?: { message?: string } };
  return [msg, err?.message].filter((part) => part !== undefined).join(': ');
}

const POLL_MS = 20;

/**
 * Stops a process that an earlier, killed run left behind. Operating systems reuse pids, so the process is stopped only
 * if its command line contains all `marks`, such as our data folder. Returns what the pid turned out to be: `gone`, a
 * `stranger` (another process), or `stopped`. Throws when the process cannot be stopped.
 */
export async function stopOrphan(
  pid: number,
  marks: readonly string[],
  steps: readonly StopStep[],
): Promise<'gone' | 'stranger' | 'stopped'> {
  const commandLine = await commandLineOf(pid);
  if (commandLine === undefined) return 'gone';
  if (!marks.every((mark) => commandLine.includes(mark))) return 'stranger';
  let isDone = false;
  const gone = (async () => {
    while (!isDone && (await commandLineOf(pid)) !== undefined) await sleep(POLL_MS);
  })();
  await stopProcess(pid, steps, gone);
  isDone = true;
  if ((await commandLineOf(pid)) !== undefined)
    throw new Error(
      `Process ${pid} of an earlier run could not be stopped. End it by hand (kill -9 ${pid}), then try again.`,
    );
  return 'stopped';
}

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
