import { readFile } from 'node:fs/promises';
import { runCommand } from './run-command.ts';

/**
 * Returns the command line of a running process, its arguments joined by
 * spaces; undefined when it is not running.
 */
export async function commandLineOf(pid: number): Promise<string | undefined> {
  if (!Number.isInteger(pid) || pid <= 0) return undefined;
  if (process.platform === 'linux') {
    const raw = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    // Empty for a zombie: it has ended, but its parent has not collected its
    // exit status yet.
    return raw === '' ? undefined : raw.split('\0').join(' ').trimEnd();
  }
  const listed = await runCommand(
    'ps',
    ['-ww', '-o', 'command=', '-p', String(pid)],
    {
      timeoutMs: 5_000,
    },
  ).catch(() => '');
  return listed.trim() === '' ? undefined : listed.trim();
}
