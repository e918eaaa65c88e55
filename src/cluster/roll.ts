import type { StackConnection } from '../embedded/connection-file.ts';
import { ensureSecrets } from '../embedded/stack-secrets.ts';
import { pinnedRuns, setCurrentBuild, unpinRun } from '../temporal/builds.ts';
import { createTemporalClient, type TemporalClient } from '../temporal/client.ts';
import type { RunningParts } from './running-parts.ts';
import { waitUntil } from './wait-until.ts';
import { buildName, startWorkers, workerNames } from './worker-groups.ts';

const TIMEOUT_MS = 120_000;

/**
 * Replaces all our processes by those of a new build while the others serve. Workers of both builds stand side by side until
 * Temporal sends everything to the new ones; then gateways and receiver follow one by one. Rejects when Temporal or a new
 * process does not follow; what serves then goes on serving.
 */
export async function rollCluster(
  { site, proxy, gateways, workerEnvironment }: RunningParts,
  connection: StackConnection,
  build: number,
): Promise<void> {
  const { group, log, dataDir } = site;
  log(`Rolling to ${buildName(build)}`);
  await startWorkers(site, workerEnvironment, { build });
  const { dataKeys } = await ensureSecrets(dataDir);
  const temporal = await createTemporalClient({
    TEMPORAL_ADDRESS: connection.temporalAddress,
    TEMPORAL_NAMESPACE: connection.temporalNamespace,
    TEMPORAL_TLS: false,
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: dataKeys,
  });
  try {
    const makeCurrent = async () => (await setCurrentBuild(temporal, buildName(build))) || undefined;
    await waitUntil(`${buildName(build)} becomes current`, makeCurrent, { timeoutMs: TIMEOUT_MS });
    log(`${buildName(build)} is current; ${await unpin(temporal, build - 1)} open workflows moved to it`);
    for (const name of workerNames(build - 1)) await group.remove(name);
    // Of those that began while the list was read.
    await unpin(temporal, build - 1);
  } finally {
    await temporal.connection.close();
  }
  for (const { name, url } of gateways) {
    await restart(name);
    if (!(await proxy.waitUntilReady(url, Date.now() + TIMEOUT_MS))) throw new Error(`${name} is not ready`);
    log(`${name} is replaced`);
  }
  await restart('receiver');
  log(`Everything is of ${buildName(build)}`);

  async function restart(name: string): Promise<void> {
    const before = group.pids()[name];
    await group.restart(name);
    const isNew = async () => (group.pids()[name] !== before ? true : undefined);
    await waitUntil(`${name} starts again`, isNew, { timeoutMs: TIMEOUT_MS });
  }
}

/** Returns what rolls to the next build each time, one after the other; a roll that failed does not prevent the next. */
export function rollInTurn(roll: (build: number) => Promise<void>): () => Promise<void> {
  let build = 1;
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last
      .catch(() => undefined)
      .then(() => {
        build += 1;
        return roll(build);
      });
    return last;
  };
}

/** Both builds have the same code here, so what is pinned to the old one may go on with the new one. */
async function unpin(temporal: TemporalClient, build: number): Promise<number> {
  let moved = 0;
  for await (const run of pinnedRuns(temporal, buildName(build))) {
    await unpinRun(temporal, run);
    moved += 1;
  }
  return moved;
}
