import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../lib/logger.ts';
import {
  pinnedRuns,
  pollingBuilds,
  readBuilds,
  setCurrentBuild,
  unpinRun,
} from '../temporal/builds.ts';
import type { TemporalClient } from '../temporal/client.ts';

export type Versioning = 'off' | 'on' | 'alone';

const PAUSE_MS = 1_000;

/**
 * Makes sure that Temporal sends tasks to workers that exist, when a worker
 * starts:
 *
 * - `on`: another build stays current until an operator decides (`npm run
 *   deployment`). Only if none is current and no worker without versioning
 *   polls, this build becomes current, because otherwise nothing would run.
 * - `alone`: all workers of the system are of this build, so it becomes
 *   current, and what is pinned to others moves to it.
 * - `off`: only logs if a build is current, because Temporal then sends nothing
 *   to this worker.
 */
export async function settleRouting(
  { versioning, build }: { versioning: Versioning; build: string },
  {
    temporal,
    logger,
    signal,
  }: { temporal: TemporalClient; logger: Logger; signal: AbortSignal },
): Promise<void> {
  if (versioning === 'off') return warnIfRoutedElsewhere(temporal, logger);
  while (!signal.aborted) {
    try {
      if (await isSettled(versioning, build, temporal, logger)) return;
    } catch (err) {
      logger.warn(
        { err, build },
        'could not check which build is current in Temporal; trying again',
      );
    }
    await delay(PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** What is known about the current build is asked for again after this time. */
const KNOWN_MS = 60_000;

/**
 * Whether another build than this worker's is current, so that a run that is
 * pinned to this one should move on. `false` where that cannot be read.
 */
export function replacement(
  { versioning, build }: { versioning: Versioning; build: string },
  temporal: TemporalClient,
): () => Promise<boolean> {
  let known = { at: Number.NEGATIVE_INFINITY, is: Promise.resolve(false) };
  return () => {
    if (versioning === 'off') return known.is;
    const now = performance.now();
    if (now - known.at >= KNOWN_MS) {
      const read = readBuilds(temporal).then(
        ({ current }) => current !== undefined && current !== build,
        () => false,
      );
      known = { at: now, is: read };
    }
    return known.is;
  };
}

async function isSettled(
  versioning: Versioning,
  build: string,
  temporal: TemporalClient,
  logger: Logger,
) {
  const { current, all } = await readBuilds(temporal);
  if (current === undefined || (versioning === 'alone' && current !== build)) {
    const mayTake =
      versioning === 'alone' || !(await pollingBuilds(temporal)).unversioned;
    // Not accepted while other queues have no worker of this build yet.
    if (!mayTake || !(await setCurrentBuild(temporal, build))) return false;
    logger.info({ build }, 'this build is current now');
  }
  if (versioning === 'alone')
    await unpinOthers(
      temporal,
      logger,
      build,
      all.map(({ id }) => id),
    );
  return true;
}

async function unpinOthers(
  temporal: TemporalClient,
  logger: Logger,
  build: string,
  builds: readonly string[],
): Promise<void> {
  for (const other of builds.filter((id) => id !== build)) {
    let moved = 0;
    for await (const run of pinnedRuns(temporal, other)) {
      await unpinRun(temporal, run);
      moved += 1;
    }
    if (moved > 0)
      logger.info(
        { from: other, to: build, moved },
        'open workflows moved to this build',
      );
  }
}

async function warnIfRoutedElsewhere(
  temporal: TemporalClient,
  logger: Logger,
): Promise<void> {
  const { current } = await readBuilds(temporal);
  if (current !== undefined)
    logger.error(
      { build: current },
      'a build is current in Temporal, so this worker without versioning gets no tasks: set WORKER_VERSIONING, or run "npm run deployment -- unversioned"',
    );
}
