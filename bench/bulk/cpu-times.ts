import { readdirSync, readFileSync } from 'node:fs';

/** CPU seconds by process; empty without /proc. */
export interface CpuSeconds {
  worker: number;
  gateway: number;
  /** The server with all its backends, including those that have ended. */
  postgres: number;
}

/** Linux counts in hundredths of a second. */
const TICKS_PER_SECOND = 100;

/**
 * Reads how much CPU these processes, and the children of `postgres`, have used
 * so far.
 */
export function readCpuSeconds(
  pids: { [name in keyof CpuSeconds]?: number },
): CpuSeconds {
  return {
    worker: cpuSecondsOf(pids.worker),
    gateway: cpuSecondsOf(pids.gateway),
    postgres: cpuSecondsWithChildren(pids.postgres),
  };
}

export const cpuSince = (before: CpuSeconds, now: CpuSeconds): CpuSeconds => ({
  worker: now.worker - before.worker,
  gateway: now.gateway - before.gateway,
  postgres: now.postgres - before.postgres,
});

export const cpuSecondsOf = (pid: number | undefined): number => {
  const { user = 0, system = 0 } = statOf(pid) ?? {};
  return (user + system) / TICKS_PER_SECOND;
};

/** Including children that have ended. */
export function cpuSecondsWithChildren(pid: number | undefined): number {
  const { endedChildren = 0 } = statOf(pid) ?? {};
  const alive = readdirSync('/proc')
    .filter(
      (name) => /^\d+$/.test(name) && statOf(Number(name))?.parent === pid,
    )
    .reduce((sum, name) => sum + cpuSecondsOf(Number(name)), 0);
  return cpuSecondsOf(pid) + endedChildren / TICKS_PER_SECOND + alive;
}

function statOf(pid: number | undefined) {
  try {
    // After the name, which may contain spaces: state, parent, …; fields 14 to
    // 17 are the times.
    const fields =
      readFileSync(`/proc/${pid}/stat`, 'utf8')
        .split(') ')
        .at(-1)
        ?.split(' ')
        .map(Number) ?? [];
    const parent = fields[1];
    const user = fields[11] ?? 0;
    const system = fields[12] ?? 0;
    return {
      parent,
      user,
      system,
      endedChildren: (fields[13] ?? 0) + (fields[14] ?? 0),
    };
  } catch {
    return undefined;
  }
}
