import { readdir, readFile } from 'node:fs/promises';

const TICK_MS = 10;

/**
 * User and system time of a process and its children so far, in milliseconds,
 * by Linux's /proc; NaN without it.
 */
export async function cpuOfTree(pid: number): Promise<number> {
  const ids = await readdir('/proc').catch(() => []);
  let ticks = 0;
  for (const id of ids.filter((name) => /^\d+$/.test(name))) {
    const text = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
    // Behind the name in brackets: state, parent, …, the times as 12th and
    // 13th.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    if (Number(id) === pid || Number(fields[1]) === pid)
      ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ids.length === 0 ? Number.NaN : ticks * TICK_MS;
}
