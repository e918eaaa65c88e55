import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemEnvironment } from '../../src/config.ts';
import type { ExitStatus, RunningPart, StopStep } from './running-part.ts';

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
