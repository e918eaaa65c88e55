import { DEMO_ACCOUNT_ID } from '../../../src/exchange/operations/admin/seed.ts';
import { freePort } from '../../../src/lib/free-port.ts';
import {
  ensureSecrets,
  type StackSecrets,
  storageInFolders,
} from '../../../src/local-stack/connection-file.ts';
import { startTestStack, type TestStack } from '../../../test/support/stack.ts';
import { startNodeProcess } from '../../../tools/embedded/child-process.ts';
import { ProcessGroup } from '../../../tools/embedded/process-group.ts';
import {
  type Environment,
  workerEnvironment,
} from '../../../tools/embedded/stack-environment.ts';
import {
  ensurePorts,
  type StackPorts,
} from '../../../tools/embedded/stack-ports.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/**
 * What gateway, workers and receiver reach over a line that can be disturbed.
 */
export const LINES = [
  'hie',
  'pharmacy',
  'lab',
  'PostgreSQL',
  'Temporal',
] as const;
export type LineName = (typeof LINES)[number];

/**
 * Two builds of the workers stand side by side; Temporal sends new work to the
 * current one.
 */
export const BUILDS = ['build-a', 'build-b'] as const;
export type BuildName = (typeof BUILDS)[number];

/**
 * A stack whose parts reach sources, PostgreSQL and Temporal through proxies,
 * with workers of two builds.
 */
export interface MixedStack extends TestStack {
  readonly lines: Readonly<Record<LineName, TcpProxy>>;
  /** Pids by part; `worker` is of build a, `worker-b` of build b. */
  pids(): Record<string, number>;
}

export async function startMixedStack(dataDir: string): Promise<MixedStack> {
  const [secrets, ports] = await Promise.all([
    ensureSecrets(dataDir),
    ensurePorts(dataDir),
  ]);
  const lines = {
    hie: await startTcpProxy(ports.simulator),
    pharmacy: await startTcpProxy(ports.simulator),
    lab: await startTcpProxy(ports.simulator),
    PostgreSQL: await startTcpProxy(ports.postgres),
    Temporal: await startTcpProxy(ports.temporal),
  };
  const closeLines = async () =>
    void (await Promise.all(Object.values(lines).map((line) => line.close())));
  const overLines = environmentOver(lines, secrets);
  // One process of each build, so that each kill and stop hits all work of that
  // build.
  const worker = {
    ...overLines,
    WORKER_VERSIONING: 'on',
    WORKER_QUEUES: 'all',
  };
  const second = new ProcessGroup({ log: () => undefined });
  try {
    const stack = await startTestStack({
      dataDir,
      ports,
      environment: {
        gateway: overLines,
        receiver: { TEMPORAL_ADDRESS: overLines.TEMPORAL_ADDRESS },
        worker: { ...worker, BUILD_ID: 'build-a' },
      },
    });
    const stop = async () => {
      await second.stop();
      await stack.stop();
      await closeLines();
    };
    try {
      await startSecondBuild(second, {
        dataDir,
        ports,
        secrets,
        environment: worker,
      });
    } catch (error) {
      await stop();
      throw error;
    }
    return {
      ...stack,
      lines,
      pids: () => ({ ...stack.stack.pids(), ...second.pids() }),
      stop,
    };
  } catch (error) {
    await closeLines();
    throw error;
  }
}

function environmentOver(
  lines: Record<LineName, TcpProxy>,
  secrets: StackSecrets,
) {
  const source = (name: 'hie' | 'pharmacy' | 'lab') =>
    `http://127.0.0.1:${lines[name].port}/${name}`;
  return {
    DATABASE_URL: `postgres://exchange_service:${secrets.serviceDatabasePassword}@127.0.0.1:${lines.PostgreSQL.port}/exchange`,
    TEMPORAL_ADDRESS: `127.0.0.1:${lines.Temporal.port}`,
    HIE_BASE_URL: `${source('hie')}/fhir`,
    HIE_TOKEN_URL: `${source('hie')}/oauth/token`,
    PHARMACY_BASE_URL: `${source('pharmacy')}/fhir`,
    LAB_BASE_URL: `${source('lab')}/fhir`,
  };
}

async function startSecondBuild(
  group: ProcessGroup,
  options: {
    dataDir: string;
    ports: StackPorts;
    secrets: StackSecrets;
    environment: Environment;
  },
): Promise<void> {
  const { dataDir, secrets, environment } = options;
  const ports = { ...options.ports, worker: await freePort() };
  const facts = {
    dataDir,
    secrets,
    ports,
    logLevel: 'info',
    databaseUrl: '',
    sources: {},
    webhookKey: '',
  };
  const temporal = { TEMPORAL_NAMESPACE: 'default' };
  const storage = storageInFolders(dataDir);
  const env = {
    ...workerEnvironment({
      ...facts,
      temporal,
      storage,
      accountId: DEMO_ACCOUNT_ID,
    }),
    ...environment,
    BUILD_ID: 'build-b',
  };
  const name = 'worker-b';
  const start = (signal: AbortSignal) =>
    startNodeProcess({
      name,
      entry: 'src/worker.ts',
      dataDir,
      env,
      nodeArgs: ['--max-old-space-size=1536'],
      signal,
    });
  await group.start({ name, start });
}
