import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { StackConnection } from '../embedded/connection-file.ts';
import { allOrThrow, openStack, type StackSite, type StartedParts } from '../embedded/open-stack.ts';
import {
  gatewayEnvironment,
  receiverEnvironment,
  simulatorEnvironment,
  workerEnvironment,
} from '../embedded/stack-environment.ts';
import { connectionOf, prepareStack } from '../embedded/stack-facts.ts';
import type { StackOptions } from '../embedded/stack-options.ts';
import { ensurePorts } from '../embedded/stack-ports.ts';
import { ensureSecrets } from '../embedded/stack-secrets.ts';
import { reachable, startDatabase } from '../embedded/stack-servers.ts';
import { CLUSTER_PORT_NAMES, GATEWAYS } from './cluster-ports.ts';
import { type ProxyCounts, startProxy } from './proxy/proxy.ts';
import type { Refusal } from './proxy/refusals.ts';
import { rollCluster, rollInTurn } from './roll.ts';
import type { RunningParts } from './running-parts.ts';
import { getSeaweedFs } from './seaweedfs/program.ts';
import { s3Storage, startSeaweedFs } from './seaweedfs/seaweedfs.ts';
import { startTemporalCluster } from './temporal/start-temporal.ts';
import { buildName, startWorkers } from './worker-groups.ts';

export type ClusterOptions = Pick<
  StackOptions,
  'dataDir' | 'log' | 'logLevel' | 'onStart' | 'ports' | 'outside' | 'signal'
> & {
  /** Learns of each request that the proxy could not answer as it should; logs/proxy.log has them too. */
  onRefusal?: (refusal: Refusal) => void;
};

export interface Cluster {
  readonly connection: StackConnection;
  pids(): Record<string, number>;
  /** What the proxy has seen. */
  readonly requests: Readonly<ProxyCounts>;
  /** Replaces workers, gateways and receiver by those of a new build, one after the other. */
  roll(): Promise<void>;
  stop(): Promise<void>;
}

/** Longer than the proxy needs to notice that a gateway is not ready. */
const DRAIN_SECONDS = '2';

/**
 * Starts the system on one machine as it runs on many: two gateways behind a proxy, four worker processes with the task
 * queues apart, the receiver, PostgreSQL, an S3 server for blobs, and a Temporal server with its services apart. Behaves like
 * startStack otherwise.
 */
export async function startCluster(options: ClusterOptions): Promise<Cluster> {
  const hasPostgres = options.outside?.databaseUrl === undefined;
  let parts: RunningParts | undefined;
  const { connection, group, stop } = await openStack({ ...options, hasPostgres }, async (site) => {
    const { started, running } = await startParts(options, site);
    parts = running;
    return started;
  });
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
        start: (signal) => startSeaweedFs({ program, dataDir, ports, secretKey, signal }),
      }),
    ),
    site.startNode('simulator', () => ({
      entry: 'simulator.ts',
      environment: simulatorEnvironment({ dataDir, logLevel, ports, secrets }),
    })),
  ]);
  const temporal = await startTemporalCluster(site, context, databaseUrl);
  const servers = { databaseUrl, temporal, logLevel, storage: s3Storage(ports, secretKey) };
  const prepared = await step('database schema', prepareStack(context, servers));
  const { facts } = prepared;

  const gateways = GATEWAYS.map((name) => ({ name, url: `http://127.0.0.1:${ports[name]}` }));
  const refusals = createWriteStream(join(dataDir, 'logs', 'proxy.log'), { flags: 'a' });
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
        entry: 'gateway.ts',
        environment: {
          ...gatewayEnvironment(facts),
          GATEWAY_PORT: String(ports[name]),
          GATEWAY_DRAIN_SECONDS: DRAIN_SECONDS,
          TRUSTED_PROXIES: 'loopback',
        },
      })),
    ),
    site.startNode('receiver', () => ({ entry: 'receiver.ts', environment: receiverEnvironment(facts) })),
    // Last, so that they stop first: the work that they finish needs all the other parts.
    startWorkers(site, environment, { build: 1, alone: true }),
  ]);
  for (const { name, url } of gateways)
    if (!(await proxy.waitUntilReady(url, Date.now() + 30_000))) throw new Error(`${name} is not ready`);
  site.log(`Workers of ${buildName(1)} serve the task queues`);
  return {
    started: { connection: connectionOf(prepared, servers), ui: temporal.ui },
    running: { site, proxy, gateways, workerEnvironment: environment },
  };
}
