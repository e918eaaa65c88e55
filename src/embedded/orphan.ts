import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../lib/run-command.ts';
import { stopProcess } from './child-process.ts';
import type { StopStep } from './running-part.ts';

const POLL_MS = 20;

/**
 * Stops a process that an earlier run left behind (its supervisor was killed). A pid alone proves nothing, for
 * systems use them again: it is stopped only when its command line holds every one of `marks`, such as our data
 * folder. Gives what the pid turned out to be.
 */
export async function stopOrphan(
  pid: number,
  marks: readonly string[],
  steps: readonly StopStep[],
): Promise<'gone' | 'stranger' | 'stopped'> {
  const commandLine = await commandLineOf(pid);
  if (commandLine === undefined) return 'gone';
  if (!marks.every((mark) => commandLine.includes(mark))) return 'stranger';
  let given = false;
  const gone = (async () => {
    while (!given && (await commandLineOf(pid)) !== undefined) await sleep(POLL_MS);
  })();
  await stopProcess(pid, steps, gone);
  given = true;
  if ((await commandLineOf(pid)) !== undefined)
    throw new Error(
      `The process ${pid} of an earlier run could not be stopped; end it by hand, then try again.`,
    );
  return 'stopped';
}

/** The command line of a living process, its arguments joined by blanks; undefined when there is none. */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') {
    const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    // Empty for a zombie: ended, only not yet collected by its parent.
    return raw === '' ? undefined : raw.split('\0').join(' ').trimEnd();
  }
  const listed = await runCommand('ps', ['-ww', '-o', 'command=', '-p', String(pid)], {
    timeoutMs: 5_000,
  }).catch(() => '');
  return listed.trim() === '' ? undefined : listed.trim();
}
