import { existsSync } from 'node:fs';
import { mkdir, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../src/lib/run-command.ts';
import {
  ensureSecrets,
  holdsCluster,
} from '../../src/local-stack/connection-file.ts';
import { getTemporalCli } from '../../src/temporal/server-binary.ts';
import { PROJECT } from './child-process.ts';
import { ensureNetwork } from './network-certificates.ts';
import {
  allOrThrow,
  openStack,
  type StackSite,
  type StartedParts,
} from './open-stack.ts';
import {
  backgroundWorkerEnvironment,
  type Environment,
  gatewayEnvironment,
  receiverEnvironment,
  simulatorEnvironment,
  workerEnvironment,
} from './stack-environment.ts';
import { connectionOf, prepareStack } from './stack-facts.ts';
import type {
  ProcessName,
  ProgramName,
  StackOptions,
} from './stack-options.ts';
import { ensurePorts } from './stack-ports.ts';
import { startDatabase, startTemporal } from './stack-servers.ts';

export type Stack = Awaited<ReturnType<typeof startStack>>;

/**
 * Longer than stopping all parts takes, each of which is killed when it takes
 * too long.
 */
export const STOP_TIMEOUT_MS = 180_000;

/**
 * Limits the worker's heap: with the default limit of 4 GB, Node.js collects
 * garbage so late that importing a CSV takes 300 MB more. The worker's image
 * has the same limit (docker-compose.yml).
 */
export const WORKER_NODE_ARGS = ['--max-old-space-size=1536'];
/**
 * A worker whose queries callers wait for collects garbage less often: a sixth
 * to a quarter less CPU for 230 MB more under load.
 */
const NODE_ARGS_OF: Partial<Record<ProcessName, readonly string[]>> = {
  worker: [...WORKER_NODE_ARGS, '--max-semi-space-size=64'],
  'worker-background': WORKER_NODE_ARGS,
};

/**
 * Starts the whole system on one machine, with its state in one folder:
 * PostgreSQL, Temporal, the simulated sources, the gateway, the receiver and a
 * worker. Resolves when all of them serve. If one does not start, stops the
 * others and throws its reason. Later, a part that dies is restarted on the
 * same port. Throws DataFolderInUseError.
 */
export async function startStack(options: StackOptions) {
  if (holdsCluster(options.dataDir))
    throw new Error(
      `The data folder ${options.dataDir} holds a cluster. Start that with: DATA_DIR=${dirname(options.dataDir)} npm run cluster`,
    );
  const hasPostgres = options.outside?.databaseUrl === undefined;
  const { connection, group, stop } = await openStack(
    { ...options, hasPostgres },
    (site) => startParts(options, site),
  );
  return {
    connection,
    /** Current pids by part name. */ pids: () => group.pids(),
    stop,
  };
}

async function startParts(
  options: StackOptions,
  site: StackSite,
): Promise<StartedParts> {
  const { outside = {}, logLevel = 'info' } = options;
  const { dataDir, group, closers, step } = site;
  const secrets = await ensureSecrets(dataDir);
  const ports = await ensurePorts(dataDir, options.ports);
  await checkMachine(dataDir, {
    needsTemporal: outside.temporal === undefined,
  });
  const startNode = (name: ProcessName, environment: Environment) => {
    const program = programOf(name);
    return site.startNode(name, () => ({
      entry:
        program === 'simulator' ? 'tools/simulator.ts' : `src/${program}.ts`,
      environment: { ...environment, ...options.environment?.[program] },
      nodeArgs: [
        ...(NODE_ARGS_OF[name] ?? []),
        ...(options.nodeArgs?.[program] ?? []),
      ],
    }));
  };
  const context = { group, dataDir, ports, secrets, outside, closers };
  const [databaseUrl, temporal] = await allOrThrow([
    step('PostgreSQL', startDatabase(context)),
    step('Temporal', startTemporal(context)),
    startNode(
      'simulator',
      simulatorEnvironment({ dataDir, logLevel, ports, secrets }),
    ),
    bundleWorkflows(),
  ]);
  const network = await ensureNetwork(dataDir);
  const servers = { databaseUrl, temporal, logLevel, network };
  const prepared = await step(
    'database schema',
    prepareStack(context, servers),
  );
  const { facts } = prepared;
  const hasOwnQueues = options.environment?.worker?.WORKER_QUEUES !== undefined;
  await allOrThrow([
    startNode('gateway', gatewayEnvironment(facts)),
    startNode('receiver', receiverEnvironment(facts)),
    // Last, so that they stop first: the work that they finish needs all the
    // other parts.
    startNode('worker', workerEnvironment(facts)),
    ...(hasOwnQueues
      ? []
      : [startNode('worker-background', backgroundWorkerEnvironment(facts))]),
  ]);
  return { connection: connectionOf(prepared, servers), ui: temporal.ui };
}

/**
 * At the very first start, bundles the workflow code while the servers start,
 * because both workers need it and would each bundle it. A failure is left to
 * them to report.
 */
async function bundleWorkflows(): Promise<void> {
  if (existsSync(new URL('.cache/workflow-bundles', PROJECT))) return;
  const options = { cwd: fileURLToPath(PROJECT), timeoutMs: BUNDLE_TIMEOUT_MS };
  await runCommand(
    process.execPath,
    ['tools/bundle-workflows.ts'],
    options,
  ).catch(() => undefined);
}

const BUNDLE_TIMEOUT_MS = 60_000;

const programOf = (name: ProcessName): ProgramName =>
  name === 'worker-background' ? 'worker' : name;

/** For PostgreSQL's files and its log, and for some work. */
const FREE_BYTES_MIN = 300_000_000;

/**
 * Checks what the parts need of this machine, before any of them starts. Throws
 * an error that names the remedy.
 */
async function checkMachine(
  dataDir: string,
  { needsTemporal }: { needsTemporal: boolean },
): Promise<void> {
  await checkDisk(dataDir);
  // It is fetched at the first start, which may fail; then nothing else needs
  // to be stopped again.
  if (needsTemporal) await getTemporalCli();
}

/** Exported for its test. */
export async function checkDisk(
  dataDir: string,
  bytesMin = FREE_BYTES_MIN,
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(dataDir);
  if (bavail * bsize >= bytesMin) return;
  const megabytes = (bytes: number) => Math.floor(bytes / 1_000_000);
  throw new Error(
    `The disk of ${dataDir} has ${megabytes(bavail * bsize)} MB free, and ${megabytes(bytesMin)} MB are needed. ` +
      'Free some, or set DATA_DIR (for the demo: TMPDIR) to a folder on another disk.',
  );
}
