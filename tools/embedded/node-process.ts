import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemEnvironment } from '../../src/config.ts';
import type { ReadyMessage } from '../../src/lib/exit-with-parent.ts';
import { startChild } from './child-process.ts';
import { fileSize, findLogLine } from './log-file.ts';
import { writePidFile } from './pid-files.ts';
import { describeExit, type RunningPart, type StopStep } from './running-part.ts';

/** A path of this project, or a file: URL. */
export type EntryPoint = `src/${string}.ts` | `tools/${string}.ts` | `file:${string}`;

export interface NodeProcessOptions {
  /** Such as `gateway`; used for the command line, the pid file and the log file. */
  name: string;
  /** The stack's data folder. It is part of the command line, so that a later run recognizes its own processes. */
  dataDir: string;
  /** Entry point, such as `src/gateway.ts`, or a file: URL. It must call exitWithParent(), and reportReady() once it serves. */
  entry: EntryPoint;
  /** Its whole environment, in addition to the operating system's variables. */
  env: Readonly<Record<string, string>>;
  /** Arguments for Node.js itself, such as `--max-old-space-size=512`. */
  nodeArgs?: readonly string[];
  readyTimeoutMs?: number;
  signal?: AbortSignal;
}

export interface RunningNodeProcess extends RunningPart {
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
