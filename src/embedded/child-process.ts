import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { systemEnvironment } from '../config.ts';
import type { ExitStatus, RunningPart, StopStep } from './running-part.ts';

export interface ChildOptions {
  file: string;
  args: readonly string[];
  /** Its standard output and errors are appended here (0600). */
  logFile: string;
  stopSteps: readonly StopStep[];
  /** The whole environment of the child; by default the operating system's variables only. */
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

/** Starts a process of the stack. Rejects when it cannot be started at all (no such program, no permission). */
export async function startChild(options: ChildOptions): Promise<RunningChild> {
  const { file, args, logFile, stopSteps, ipc = false, env = systemEnvironment(), ...rest } = options;
  mkdirSync(dirname(logFile), { recursive: true, mode: 0o700 });
  const log = openSync(logFile, 'a', 0o600);
  const stdio: StdioOptions = ipc ? ['ignore', log, log, 'ipc'] : ['ignore', log, log];
  // In a process group of its own: Ctrl-C in the terminal reaches the supervisor only, which stops its parts in order.
  const child = withUmask(() => spawn(file, [...args], { ...rest, env, stdio, detached: true }));
  closeSync(log);
  const exited = new Promise<ExitStatus>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  await once(child, 'spawn');
  // What can go wrong with it from now on shows as its exit.
  child.on('error', () => undefined);
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${file} did not start`);
  return { process: child, pid, exited, stop: () => stopProcess(pid, stopSteps, exited) };
}

/** What the process writes is its owner's only, whatever modes it asks for. */
function withUmask<T>(start: () => T): T {
  const before = process.umask(0o077);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/** Sends the signals one after the other until the process is gone. */
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

/** False when there is no such process any more. */
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
