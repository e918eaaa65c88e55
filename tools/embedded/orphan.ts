import { setTimeout as sleep } from 'node:timers/promises';
import { commandLineOf } from '../../src/lib/command-line-of.ts';
import { stopProcess } from './child-process.ts';
import type { StopStep } from './running-part.ts';

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
