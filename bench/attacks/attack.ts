import { readFile } from 'node:fs/promises';
import { request } from 'undici';
import type { StackAccount, TestStack } from '../../test/support/stack.ts';
import type { HostileSource } from './hostile-source.ts';

export interface Target {
  stack: TestStack;
  /** In place of the hie. */
  source: HostileSource;
  /** Whose keys and patients the attacks use. */
  account: StackAccount;
}

/** What an attack did, and whether the stack holds. */
export interface Outcome {
  seen: string;
  holds: boolean;
}

export interface Attack {
  name: string;
  run(target: Target): Promise<Outcome>;
}

/** Milliseconds in which `/health` is answered; throws if it is not. */
export async function healthMs({ stack }: Target): Promise<number> {
  const startedAt = performance.now();
  const answer = await request(`${stack.connection.baseUrl}/health`);
  await answer.body.dump();
  if (answer.statusCode !== 200)
    throw new Error(`/health was answered with ${answer.statusCode}`);
  return performance.now() - startedAt;
}

/** Asks `/health` until `work` is done, and returns the longest answer. */
export async function slowestHealth(
  target: Target,
  work: Promise<unknown>,
): Promise<string> {
  let slowest = 0;
  let isDone = false;
  const ended = work.finally(() => {
    isDone = true;
  });
  ended.catch(() => undefined);
  do slowest = Math.max(slowest, await healthMs(target));
  while (!isDone);
  await ended;
  return `${slowest.toFixed(0)} ms`;
}

/**
 * CPU time of the gateway while `work` runs, which the load of the machine does
 * not change.
 */
export async function gatewayCpu<T>(
  { stack }: Target,
  work: () => Promise<T>,
): Promise<[T, string]> {
  const pid = stack.stack.pids().gateway;
  const before = await mainThreadCpuMs(pid);
  const result = await work();
  return [
    result,
    `${((await mainThreadCpuMs(pid)) - before).toFixed(0)} ms of CPU`,
  ];
}

/**
 * What the main thread of a process has run until now. On other systems than
 * Linux, NaN.
 */
export async function mainThreadCpuMs(
  pid: number | undefined,
): Promise<number> {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '');
  return Number(text.split(' ')[0] || Number.NaN) / 1e6;
}
