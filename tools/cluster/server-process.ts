import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild, writePidFile } from '../embedded/child-process.ts';
import { fileSize, findLogLine } from '../embedded/log-file.ts';
import { describeExit, type RunningPart, STOP_STEPS } from '../embedded/running-part.ts';

export interface ServerProcess {
  /** Also of the log file and the pid file. */
  name: string;
  /** Must be part of the arguments, so that a later run recognizes what a killed one left. */
  dataDir: string;
  file: string;
  args: readonly string[];
  env?: Record<string, string>;
  /** Resolves when the server serves; rejects when it does not in time. */
  serves: () => Promise<unknown>;
  /** What in its log explains why it did not start. */
  reason: RegExp;
}

/** Starts a server of others. Resolves when it serves; throws with its own reason when it ends before. */
export async function startServerProcess(server: ServerProcess): Promise<RunningPart> {
  const { name, dataDir, file, args, env } = server;
  const logFile = join(dataDir, 'logs', `${name}.log`);
  const logStart = await fileSize(logFile);
  const child = await startChild({
    file,
    args,
    logFile,
    cwd: dataDir,
    stopSteps: STOP_STEPS,
    ...(env === undefined ? {} : { env }),
  });
  await writePidFile(dataDir, name, child.pid);
  const ended = child.exited.then((status) => {
    throw new Error(`it ${describeExit(status)}`);
  });
  ended.catch(() => undefined);
  try {
    await Promise.race([server.serves(), ended]);
    return child;
  } catch (error) {
    await child.stop();
    const reason = (await findLogLine(logFile, logStart, server.reason)) ?? (error as Error).message;
    throw new Error(`${name} did not start: ${reason} (log: ${logFile})`);
  }
}

const POLL_MS = 100;

/** Resolves with the first value of `look` that is not undefined; its errors count as undefined. Throws after the time. */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined>,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<T> {
  const deadlineAt = Date.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const value = await look().catch(() => undefined);
    if (value !== undefined) return value;
    if (Date.now() > deadlineAt) throw new Error(`${what}: not within ${timeoutMs / 1_000} s`);
    await sleep(POLL_MS);
  }
}
