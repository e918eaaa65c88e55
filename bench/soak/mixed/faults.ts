import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SourceName } from '../../../src/local-stack/simulator/protocol.ts';
import { setCurrentBuild } from '../../../src/temporal/builds.ts';
import { until } from '../../../test/faults/kill/until.ts';
import {
  BUILDS,
  type BuildName,
  type LineName,
  type MixedStack,
} from './mixed-stack.ts';
import type { PlannedFault } from './plan.ts';
import type { Line } from './tcp-proxy.ts';

const RESTART_TIMEOUT_MS = 180_000;
const DEPLOY_TIMEOUT_MS = 60_000;
const SLOW_MS = 150;

const LINE_OF: Partial<Record<PlannedFault['kind'], Line>> = {
  'line cut': 'cut',
  'line silent': 'silent',
  'line slow': { delayMs: SLOW_MS },
};

/**
 * Does the fault, and undoes it after its time. Rejects when a part does not
 * come back.
 */
export async function cause(
  stack: MixedStack,
  { kind, target, seconds }: PlannedFault,
): Promise<void> {
  const duration = () => sleep(seconds * 1_000);
  const line = LINE_OF[kind];
  if (line !== undefined) {
    const proxy = stack.lines[target as LineName];
    proxy.set(line);
    await duration();
    proxy.set('open');
  } else if (kind === 'killed') await kill(stack, target);
  else if (kind === 'stopped') await stop(stack, target, duration);
  else if (kind === 'source refuses everybody') {
    // An outage that announces itself, or credentials that the source no longer
    // accepts.
    const status = seconds % 2 === 0 ? 503 : 401;
    const source = target as SourceName;
    await stack.simulator.setRules([
      { source, fault: { type: 'status', status } },
    ]);
    await duration();
    await stack.simulator.clearRules();
  } else {
    await deploy(stack, BUILDS[1]);
    await duration();
    await deploy(stack, BUILDS[0]);
  }
}

/** Ends a part, and waits until its supervisor has started it again. */
export async function kill(
  stack: Pick<MixedStack, 'pids'>,
  part: string,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  const pid = pidOf(stack, part);
  process.kill(pid, signal);
  const runs = await until(
    async () => ![pid, undefined].includes(stack.pids()[part]),
    {
      timeoutMs: RESTART_TIMEOUT_MS,
    },
  );
  if (!runs) throw new Error(`${part} was not started again`);
}

/**
 * Stops a process with its children (the sessions of PostgreSQL), and lets them
 * go on later.
 */
async function stop(
  stack: MixedStack,
  part: string,
  duration: () => Promise<void>,
): Promise<void> {
  const pids = await withChildren(pidOf(stack, part));
  for (const pid of pids) signal(pid, 'SIGSTOP');
  await duration();
  for (const pid of pids) signal(pid, 'SIGCONT');
}

async function deploy(
  { temporal }: MixedStack,
  build: BuildName,
): Promise<void> {
  const accepted = await until(() => setCurrentBuild(temporal, build), {
    timeoutMs: DEPLOY_TIMEOUT_MS,
    everyMs: 500,
  });
  if (!accepted) throw new Error(`Temporal does not make ${build} current`);
}

function pidOf(stack: Pick<MixedStack, 'pids'>, part: string): number {
  const pid = stack.pids()[part];
  if (pid === undefined) throw new Error(`${part} is not running`);
  return pid;
}

async function withChildren(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const children = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(
        () => '',
      );
      return status.includes(`\nPPid:\t${parent}\n`) ? [pid] : [];
    }),
  );
  return [parent, ...children.flat()];
}

function signal(pid: number, name: 'SIGSTOP' | 'SIGCONT'): void {
  try {
    process.kill(pid, name);
  } catch {
    // A session that has ended meanwhile.
  }
}
