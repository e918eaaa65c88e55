import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import {
  ensureSecrets,
  type StackConnection,
} from '../../src/local-stack/connection-file.ts';
import {
  pinnedRuns,
  setCurrentBuild,
  unpinRun,
} from '../../src/temporal/builds.ts';
import {
  createTemporalClient,
  type TemporalClient,
} from '../../src/temporal/client.ts';
import { BACKGROUND_QUEUES } from '../../src/temporal/task-queues.ts';
import {
  allOrThrow,
  openStack,
  type StackSite,
  type StartedParts,
} from '../embedded/open-stack.ts';
import { WORKER_NODE_ARGS } from '../embedded/stack.ts';
import {
  type Environment,
  gatewayEnvironment,
  receiverEnvironment,
  simulatorEnvironment,
  workerEnvironment,
} from '../embedded/stack-environment.ts';
import { connectionOf, prepareStack } from '../embedded/stack-facts.ts';
import type { StackOptions } from '../embedded/stack-options.ts';
import { ensurePorts } from '../embedded/stack-ports.ts';
import { reachable, startDatabase } from '../embedded/stack-servers.ts';
import { waitUntil } from '../embedded/wait-until.ts';
import { CLUSTER_PORT_NAMES, GATEWAYS } from './cluster-ports.ts';
import {
  type GatewayProxy,
  type ProxyCounts,
  startProxy,
} from './proxy/proxy.ts';
import type { ProxyRefusal } from './proxy/refusals.ts';
import {
  getSeaweedFs,
  seaweedStorage,
  startSeaweedFs,
} from './seaweedfs/seaweedfs.ts';
import { startTemporalCluster } from './temporal/start-temporal.ts';

export type ClusterOptions = Pick<
  StackOptions,
  'dataDir' | 'log' | 'logLevel' | 'onStart' | 'ports' | 'outside' | 'signal'
> & {
  /**
   * Learns of each request that the proxy could not answer as it should;
   * logs/proxy.log has them too.
   */
  onRefusal?: (refusal: ProxyRefusal) => void;
};

export interface Cluster {
  readonly connection: StackConnection;
  pids(): Record<string, number>;
  /** What the proxy has seen. */
  readonly requests: Readonly<ProxyCounts>;
  /**
   * Replaces workers, gateways and receiver by those of a new build, one after
   * the other.
   */
  roll(): Promise<void>;
  stop(): Promise<void>;
}

/** Longer than the proxy needs to notice that a gateway is not ready. */
const DRAIN_SECONDS = '2';

/**
 * Starts the system on one machine as it runs on many: two gateways behind a
 * proxy, four worker processes with the task queues apart, the receiver,
 * PostgreSQL, an S3 server for blobs, and a Temporal server with its services
 * apart. Behaves like startStack otherwise.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const hasPostgres = options.outside?.databaseUrl === undefined;
  let parts: RunningParts | undefined;
  const { connection, group, stop } = await openStack(
    { ...options, hasPostgres },
    async (site) => {
      const { started, running } = await startParts(options, site);
      parts = running;
      return started;
    },
  );
  if (parts === undefined) throw new Error('The cluster has no parts.');
  const running = parts;
  return {
    connection,
    pids: () => group.pids(),
    requests: running.proxy.counts,
    roll: rollInTurn((build) => rollCluster(running, connection, build)),
    stop,
  };
}

async function startParts(
  options: ClusterOptions,
  site: StackSite,
): Promise<{ started: StartedParts; running: RunningParts }> {
  const { outside = {}, logLevel = 'info' } = options;
  const { dataDir, group, closers, step } = site;
  if (outside.temporal !== undefined) await reachable(outside.temporal);
  const secrets = await ensureSecrets(dataDir);
  const ports = await ensurePorts(dataDir, options.ports, CLUSTER_PORT_NAMES);
  const context = { group, dataDir, ports, secrets, outside, closers };
  const program = await getSeaweedFs();
  const secretKey = secrets.s3SecretKey;
  const [databaseUrl] = await allOrThrow([
    step('PostgreSQL', startDatabase(context)),
    step(
      'SeaweedFS',
      group.start({
        name: 'seaweedfs',
        start: (signal) =>
          startSeaweedFs({ program, dataDir, ports, secretKey, signal }),
      }),
    ),
    site.startNode('simulator', () => ({
      entry: 'tools/simulator.ts',
      environment: simulatorEnvironment({ dataDir, logLevel, ports, secrets }),
    })),
  ]);
  const temporal = await startTemporalCluster(site, context, databaseUrl);
  const servers = {
    databaseUrl,
    temporal,
    logLevel,
    storage: seaweedStorage(ports, secretKey),
  };
  const prepared = await step(
    'database schema',
    prepareStack(context, servers),
  );
  const { facts } = prepared;

  const gateways = GATEWAYS.map((name) => ({
    name,
    url: `http://127.0.0.1:${ports[name]}`,
  }));
  const refusals = createWriteStream(join(dataDir, 'logs', 'proxy.log'), {
    flags: 'a',
  });
  const proxy = await startProxy({
    port: ports.gateway,
    backends: gateways.map(({ url }) => url),
    onRefusal: (refusal) => {
      refusals.write(`${JSON.stringify(refusal)}\n`);
      options.onRefusal?.(refusal);
    },
  });
  closers.push(async () => {
    await proxy.close();
    refusals.end();
  });
  const environment = workerEnvironment(facts);
  await allOrThrow([
    ...GATEWAYS.map((name) =>
      site.startNode(name, () => ({
        entry: 'src/gateway.ts',
        environment: {
          ...gatewayEnvironment(facts),
          GATEWAY_PORT: String(ports[name]),
          GATEWAY_DRAIN_SECONDS: DRAIN_SECONDS,
          TRUSTED_PROXIES: 'loopback',
        },
      })),
    ),
    site.startNode('receiver', () => ({
      entry: 'src/receiver.ts',
      environment: receiverEnvironment(facts),
    })),
    // Last, so that they stop first: the work that they finish needs all the
    // other parts.
    startWorkers(site, environment, { build: 1, alone: true }),
  ]);
  for (const { name, url } of gateways)
    if (!(await proxy.waitUntilReady(url, Date.now() + 30_000)))
      throw new Error(`${name} is not ready`);
  site.log(`Workers of ${buildName(1)} serve the task queues`);
  return {
    started: { connection: connectionOf(prepared, servers), ui: temporal.ui },
    running: { site, proxy, gateways, workerEnvironment: environment },
  };
}

const TIMEOUT_MS = 120_000;

/**
 * Replaces all our processes by those of a new build while the others serve.
 * Workers of both builds stand side by side until Temporal sends everything to
 * the new ones; then gateways and receiver follow one by one. Rejects when
 * Temporal or a new process does not follow; what serves then goes on serving.
 */
async function rollCluster(
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
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: dataKeys,
  });
  try {
    const makeCurrent = async () =>
      (await setCurrentBuild(temporal, buildName(build))) || undefined;
    await waitUntil(`${buildName(build)} becomes current`, makeCurrent, {
      timeoutMs: TIMEOUT_MS,
    });
    log(
      `${buildName(build)} is current; ${await unpin(temporal, build - 1)} open workflows moved to it`,
    );
    for (const name of workerNames(build - 1)) await group.remove(name);
    // Of those that began while the list was read.
    await unpin(temporal, build - 1);
  } finally {
    await temporal.connection.close();
  }
  for (const { name, url } of gateways) {
    await restart(name);
    if (!(await proxy.waitUntilReady(url, Date.now() + TIMEOUT_MS)))
      throw new Error(`${name} is not ready`);
    log(`${name} is replaced`);
  }
  await restart('receiver');
  log(`Everything is of ${buildName(build)}`);

  async function restart(name: string): Promise<void> {
    const before = group.pids()[name];
    await group.restart(name);
    const isNew = async () =>
      group.pids()[name] !== before ? true : undefined;
    await waitUntil(`${name} starts again`, isNew, { timeoutMs: TIMEOUT_MS });
  }
}

/**
 * Returns what rolls to the next build each time, one after the other; a roll
 * that failed does not prevent the next.
 */
export function rollInTurn(
  roll: (build: number) => Promise<void>,
): () => Promise<void> {
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

/**
 * Both builds have the same code here, so workflows that are pinned to the old
 * build may continue on the new one.
 */
async function unpin(temporal: TemporalClient, build: number): Promise<number> {
  let moved = 0;
  for await (const run of pinnedRuns(temporal, buildName(build))) {
    await unpinRun(temporal, run);
    moved += 1;
  }
  return moved;
}

/** What rolling needs to know of a running cluster. */
interface RunningParts {
  readonly site: StackSite;
  readonly proxy: GatewayProxy;
  readonly gateways: readonly { name: string; url: string }[];
  readonly workerEnvironment: Environment;
}

/** The task queues of each worker process (WORKER_QUEUES). */
export const WORKER_GROUPS = {
  'worker-exchange': 'exchange webhooks partners builds',
  'worker-sources': 'source-hie source-pharmacy source-lab',
  'worker-orchestrator': 'orchestrator',
  'worker-background': BACKGROUND_QUEUES.join(' '),
} as const;

const buildName = (build: number): string => `build-${build}`;
/** As the processes of a build are named in logs and pid files. */
const workerNames = (build: number): string[] =>
  Object.keys(WORKER_GROUPS).map((group) => `${group}-${build}`);

/**
 * Starts the workers of a build: beside those of others, or alone. Alone they
 * take over from whatever build is current in Temporal, because an earlier run
 * of the cluster may have been rolled. A worker that is started again does not
 * take over.
 */
export async function startWorkers(
  site: StackSite,
  environment: Environment,
  { build, alone = false }: { build: number; alone?: boolean },
): Promise<void> {
  await Promise.all(
    Object.entries(WORKER_GROUPS).map(([group, queues]) => {
      let versioning = alone ? 'alone' : 'on';
      return site.startNode(`${group}-${build}`, () => {
        const WORKER_VERSIONING = versioning;
        versioning = 'on';
        return {
          entry: 'src/worker.ts',
          nodeArgs: WORKER_NODE_ARGS,
          environment: {
            ...environment,
            WORKER_QUEUES: queues,
            WORKER_VERSIONING,
            BUILD_ID: buildName(build),
            WORKER_PORT: '0',
          },
        };
      });
    }),
  );
}
