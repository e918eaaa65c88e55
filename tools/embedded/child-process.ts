import {
  type ChildProcess,
  type StdioOptions,
  spawn,
} from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import {
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { systemEnvironment } from '../../src/config.ts';
import { anySignal } from '../../src/lib/abort-signals.ts';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import type { ReadyMessage } from '../../src/lib/exit-with-parent.ts';

/** How a process ended: with an exit code, or by a signal. */
interface ExitStatus {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A started process of the stack. */
export interface RunningPart {
  readonly pid: number;
  /** Resolves when the process has ended for any reason. Never rejects. */
  readonly exited: Promise<ExitStatus>;
  /**
   * Stops it gracefully, and kills it when that takes too long. May be called
   * again.
   */
  stop(): Promise<void>;
}

/**
 * One step of stopping a process: the signal to send (0: none, only wait), and
 * how long to wait afterwards.
 */
export interface StopStep {
  readonly signal: NodeJS.Signals | 0;
  readonly waitMs: number;
}

/** How a server of others is stopped, unless its own signals say otherwise. */
export const STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGTERM', waitMs: 15_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

export const describeExit = ({ code, signal }: ExitStatus): string =>
  signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`;

interface ChildOptions {
  file: string;
  args: readonly string[];
  /**
   * File to which standard output and standard error are appended (mode 0600).
   */
  logFile: string;
  stopSteps: readonly StopStep[];
  /**
   * The child's whole environment; default: only the variables of the operating
   * system.
   */
  env?: Record<string, string>;
  cwd?: string;
  uid?: number | undefined;
  gid?: number | undefined;
  /** Opens an IPC channel (Node.js children only). */
  ipc?: boolean;
}

interface RunningChild extends RunningPart {
  readonly process: ChildProcess;
}

/**
 * Starts a process of the stack. Throws when it cannot be started at all (no
 * such program, no permission).
 */
export async function startChild(options: ChildOptions): Promise<RunningChild> {
  const {
    file,
    args,
    logFile,
    stopSteps,
    ipc = false,
    env = systemEnvironment(),
    ...rest
  } = options;
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, 'a', 0o600);
  const stdio: StdioOptions = ipc
    ? ['ignore', log, log, 'ipc']
    : ['ignore', log, log];
  // In its own process group: Ctrl-C in the terminal reaches only the
  // supervisor, which stops the parts in order.
  const child = withUmask(() =>
    spawn(file, [...args], { ...rest, env, stdio, detached: true }),
  );
  closeSync(log);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await once(child, 'spawn');
  // From now on, every failure shows as the exit of the process.
  child.on('error', () => undefined);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${file} did not start`);
  return {
    process: child,
    pid,
    exited,
    stop: () => stopProcess(pid, stopSteps, exited),
  };
}

/**
 * Files that the process creates are readable by the owner only, whatever mode
 * it requests.
 */
function withUmask<T>(start: () => T): T {
  const before = process.umask(0o077);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/**
 * Sends the signals of the steps one after the other until the process has
 * ended.
 */
async function stopProcess(
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

async function resolvesWithin(
  promise: Promise<unknown>,
  waitMs: number,
): Promise<boolean> {
  const over = new AbortController();
  const timeout = sleep(waitMs, false, { signal: over.signal }).catch(
    () => false,
  );
  return Promise.race([promise.then(() => true), timeout]).finally(() =>
    over.abort(),
  );
}

/** A path of this project, or a file: URL. */
export type EntryPoint =
  | `src/${string}.ts`
  | `tools/${string}.ts`
  | `file:${string}`;

interface NodeProcessOptions {
  /**
   * Such as `gateway`; used for the command line, the pid file and the log
   * file.
   */
  name: string;
  /**
   * The stack's data folder. It is part of the command line, so that a later
   * run recognizes its own processes.
   */
  dataDir: string;
  /**
   * Entry point, such as `src/gateway.ts`, or a file: URL. It must call
   * exitWithParent(), and reportReady() once it serves.
   */
  entry: EntryPoint;
  /**
   * The environment of the process, in addition to the operating system's
   * variables.
   */
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

export const PROJECT = new URL('../../', import.meta.url);
/** Long enough to bundle the workflows on a busy machine. */
const READY_TIMEOUT_MS = 240_000;
/**
 * glibc keeps freed memory in one arena per thread; with two arenas a worker
 * uses some 40 MiB less.
 */
const FEW_ARENAS = { MALLOC_ARENA_MAX: '2' };
/** Longer than the graceful shutdown of runProcess. */
const NODE_STOP_STEPS: readonly StopStep[] = [
  { signal: 'SIGTERM', waitMs: 32_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/**
 * Starts one of our entry points. Resolves when it reports that it is ready;
 * throws with the reason when it ends before.
 */
export async function startNodeProcess(
  options: NodeProcessOptions,
): Promise<RunningNodeProcess> {
  const {
    name,
    entry,
    env,
    dataDir,
    nodeArgs = [],
    readyTimeoutMs = READY_TIMEOUT_MS,
    signal,
  } = options;
  const { pid, exited, stop, info } = await startServing({
    name: `The ${name}`,
    file: process.execPath,
    args: [
      ...nodeArgs,
      fileURLToPath(new URL(entry, PROJECT)),
      '--stack',
      dataDir,
      '--part',
      name,
    ],
    env: { ...FEW_ARENAS, ...systemEnvironment(), ...env },
    cwd: fileURLToPath(PROJECT),
    logFile: join(dataDir, 'logs', `${name}.log`),
    stopSteps: NODE_STOP_STEPS,
    ipc: true,
    onStarted: (started) => writePidFile(dataDir, name, started),
    serves: async (child, ending) => {
      const tooLate = AbortSignal.timeout(readyTimeoutMs);
      const ready = once(child.process, 'message', {
        signal: anySignal([ending, tooLate]),
      });
      const [message] = await ready.catch(() => {
        throw new Error(
          tooLate.aborted
            ? `not ready after ${readyTimeoutMs / 1000} s`
            : 'stopped while starting',
        );
      });
      return (message as ReadyMessage).info;
    },
    reason: /"level":(50|60)|^\w*Error\b|^ {2}[A-Z_]+: |configuration/,
    signal,
  });
  return { pid, exited, stop, info };
}

interface ServingOptions<T> extends ChildOptions {
  /** As errors call it, such as `The Temporal server`. */
  name: string;
  /** Keeps the pid for a later run. */
  onStarted?: (pid: number) => Promise<void>;
  /**
   * Resolves when the process serves. The signal aborts when it has ended, or
   * the start was aborted.
   */
  serves: (child: RunningChild, ending: AbortSignal) => Promise<T>;
  /** What in its log explains why it did not start. */
  reason: RegExp;
  /** Aborts the start. */
  signal?: AbortSignal | undefined;
}

/**
 * Starts a process. Resolves when it serves; throws with its own reason when it
 * ends before, or does not serve.
 */
export async function startServing<T>(
  options: ServingOptions<T>,
): Promise<RunningChild & { info: T }> {
  const { name, onStarted, serves, reason, signal, ...childOptions } = options;
  const { logFile } = childOptions;
  const logStart = await fileSize(logFile);
  const child = await startChild(childOptions);
  await onStarted?.(child.pid);
  const over = new AbortController();
  const ended = child.exited.then((status): never => {
    throw new Error(`it ${describeExit(status)}`);
  });
  try {
    const ending =
      signal === undefined ? over.signal : anySignal([over.signal, signal]);
    return {
      ...child,
      info: await Promise.race([serves(child, ending), ended]),
    };
  } catch (error) {
    await child.stop();
    const line = await findLogLine(logFile, logStart, reason);
    const why =
      line === undefined
        ? error instanceof Error
          ? error.message
          : String(error)
        : reasonIn(line);
    throw new Error(`${name} did not start: ${why} (log: ${logFile})`);
  } finally {
    over.abort();
    // Once it serves, its end is the supervisor's business.
    ended.catch(() => undefined);
  }
}

/**
 * Starts a server of others, whose log and pid file have its name. The data
 * folder must be part of its arguments.
 */
export const startServer = <T>(
  server: Omit<
    ServingOptions<T>,
    'logFile' | 'cwd' | 'stopSteps' | 'onStarted'
  > & { dataDir: string },
): Promise<RunningPart> =>
  startServing({
    ...server,
    logFile: join(server.dataDir, 'logs', `${server.name}.log`),
    cwd: server.dataDir,
    stopSteps: STOP_STEPS,
    onStarted: (pid) => writePidFile(server.dataDir, server.name, pid),
  });

const TAIL_BYTES = 16_384;

/** Size in bytes; 0 when the file does not exist. */
const fileSize = (path: string): Promise<number> =>
  stat(path).then(
    ({ size }) => size,
    () => 0,
  );

/**
 * Returns the last matching line among those written since `start` (a position
 * in bytes). At most the last 16 KB are read.
 */
async function findLogLine(
  path: string,
  start: number,
  pattern: RegExp,
): Promise<string | undefined> {
  const file = await open(path, 'r').catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const from = Math.max(start, size - TAIL_BYTES, 0);
    const tail = Buffer.alloc(Math.max(size - from, 0));
    await file.read(tail, 0, tail.length, from);
    return tail
      .toString('utf8')
      .split('\n')
      .findLast((line) => pattern.test(line))
      ?.trim();
  } finally {
    await file.close();
  }
}

/** What a line of a log says; those of our own processes are pino's. */
function reasonIn(line: string): string {
  if (!/^\{"level":\d/.test(line)) return line;
  const { msg, err } = JSON.parse(line) as {
    msg?: string;
    err?: { message?: string };
  };
  return [msg, err?.message].filter((part) => part !== undefined).join(': ');
}

const POLL_MS = 20;

/**
 * Stops a process that an earlier, killed run left behind. Operating systems
 * reuse pids, so the process is stopped only if its command line contains all
 * `marks`, such as our data folder. Returns what the pid turned out to be:
 * `gone`, a `stranger` (another process), or `stopped`. Throws when the process
 * cannot be stopped.
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
    while (!isDone && (await commandLineOf(pid)) !== undefined)
      await sleep(POLL_MS);
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

/**
 * Our processes end by themselves when their supervisor is gone; an early
 * signal would cut their shutdown short.
 */
const STEPS: readonly StopStep[] = [
  { signal: 0, waitMs: 10_000 },
  { signal: 'SIGTERM', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

export async function writePidFile(
  dataDir: string,
  name: string,
  pid: number,
): Promise<void> {
  await mkdir(folderOf(dataDir), { recursive: true, mode: 0o700 });
  await writeFile(join(folderOf(dataDir), `${name}.pid`), `${pid}\n`, {
    mode: 0o600,
  });
}

/**
 * Stops the processes that a killed supervisor left behind on this data folder,
 * which their command lines name.
 */
export async function stopLeftOverProcesses(dataDir: string): Promise<void> {
  const files = await readdir(folderOf(dataDir)).catch(() => []);
  await Promise.all(
    files.map(async (file) => {
      const pid = Number(
        await readFile(join(folderOf(dataDir), file), 'utf8').catch(() => ''),
      );
      if (pid > 0) await stopOrphan(pid, [dataDir], STEPS);
      await rm(join(folderOf(dataDir), file), { force: true });
    }),
  );
}
