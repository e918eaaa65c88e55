import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../lib/run-command.ts';
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

/** Returns the command line of a running process, its arguments joined by spaces; undefined when it is not running. */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') {
    const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    // Empty for a zombie: it has ended, but its parent has not collected its exit status yet.
    return raw === '' ? undefined : raw.split('\0').join(' ').trimEnd();
  }
  const listed = await runCommand('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
    timeoutMs: 5_000,
  }).catch(() => '');
  return listed.trim() === '' ? undefined : listed.trim();
}
