import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { systemEnvironment } from '../../../src/config.ts';
import { SEARCH_ATTRIBUTES } from '../../../src/contract/temporal.ts';
import { CommandError, runCommand } from '../../../src/lib/run-command.ts';
import { withConnection } from '../../../src/temporal/connection.ts';
import { registerSearchAttributes } from '../../../src/temporal/register-search-attributes.ts';
import { fillCache, findCached } from '../../../src/temporal/server-binary.ts';
import { type RunningPart, startServer } from '../../embedded/child-process.ts';
import { allOrThrow, type StackSite } from '../../embedded/open-stack.ts';
import {
  type ServerContext,
  type StackTemporal,
  startUi,
} from '../../embedded/stack-servers.ts';
import { DATABASE_FILE } from '../../embedded/temporal-server.ts';
import { checkListening, waitUntil } from '../../embedded/wait-until.ts';
import type { ClusterPorts } from '../cluster-ports.ts';
import {
  serverConfig,
  TEMPORAL_DATABASES,
  TEMPORAL_SERVICES,
  type TemporalPorts,
  type TemporalService,
  uiConfig,
} from './config.ts';

/**
 * Starts a Temporal server on PostgreSQL with its services apart, and its UI.
 * An external one is used as it is. Throws where the server can be neither
 * found nor built.
 */
export async function startTemporalCluster(
  site: StackSite,
  context: ServerContext & { ports: ClusterPorts },
  databaseUrl: string,
  getPrograms = getTemporalPrograms,
): Promise<StackTemporal> {
  if (context.outside.temporal !== undefined) return context.outside.temporal;
  if (existsSync(join(site.dataDir, 'temporal', DATABASE_FILE)))
    throw new Error(
      'The workflows of this data folder are in the development server. Begin with a new one: DATA_DIR.',
    );
  const programs = await getPrograms(site.log).catch((error: Error) => {
    throw new Error(
      `The Temporal server cannot be built: ${error.message}. Install Go 1.26, or set TEMPORAL_ADDRESS to a Temporal server of your own.`,
    );
  });
  const { group } = site;
  const { dataDir, ports } = context;
  const options = { programs, dataDir, ports, databaseUrl };
  await site.step('Temporal schema', prepareTemporal(options));
  const ui = await startUi(context);
  const startService = (service: TemporalService) => {
    const name = `temporal-${service}`;
    const start = (signal: AbortSignal) =>
      startTemporalService(service, options, signal);
    return site.step(name, group.start({ name, start }));
  };
  const [first, ...others] = TEMPORAL_SERVICES;
  await startService(first);
  await allOrThrow([
    ...others.map(startService),
    group.start({
      name: 'temporal-ui',
      start: (signal) => startUiServer(options, signal),
    }),
  ]);
  await site.step('Temporal namespace', prepareNamespace(ports));
  return {
    address: `127.0.0.1:${ports.temporal}`,
    namespace: TEMPORAL_NAMESPACE,
    uiUrl: ui.url,
    ui,
  };
}

interface TemporalOptions {
  programs: TemporalPrograms;
  dataDir: string;
  ports: TemporalPorts;
  /** Superuser address of PostgreSQL. */
  databaseUrl: string;
}

const TEMPORAL_NAMESPACE = 'default';
/** In the folder `temporal` of the data folder. */
const SERVER_CONFIG = 'server.yaml';
const CALL_TIMEOUT_MS = 5_000;
const READY_TIMEOUT_MS = 120_000;
const SCHEMA_TIMEOUT_MS = 120_000;
const RETENTION_MS = 30 * 86_400_000;
const GRPC_ALREADY_EXISTS = 6;
const PORT_OF = {
  frontend: 'temporal',
  history: 'history',
  matching: 'matching',
  worker: 'system',
} as const satisfies Record<TemporalService, string>;

const folderOf = (dataDir: string): string => join(dataDir, 'temporal');
const configOf = (dataDir: string): string =>
  join(folderOf(dataDir), SERVER_CONFIG);

/**
 * Creates or migrates Temporal's two databases, and writes the configuration of
 * its services.
 */
async function prepareTemporal({
  programs,
  dataDir,
  ports,
  databaseUrl,
}: TemporalOptions): Promise<void> {
  const { hostname, port, username: user, password } = new URL(databaseUrl);
  await mkdir(folderOf(dataDir), { recursive: true, mode: 0o700 });
  const files = [
    [
      configOf(dataDir),
      serverConfig(ports, { address: `${hostname}:${port}`, user, password }),
    ],
    [join(folderOf(dataDir), 'ui.yaml'), uiConfig(ports)],
  ] as const;
  for (const [path, content] of files)
    await writeFile(path, JSON.stringify(content), { mode: 0o600 });

  const login = [
    '--plugin',
    'postgres12',
    '--endpoint',
    hostname,
    '--port',
    port,
    '--user',
    user,
  ];
  for (const [schema, database] of Object.entries(TEMPORAL_DATABASES)) {
    const tool = (...args: string[]) =>
      runCommand(programs.schema, [...login, '--database', database, ...args], {
        timeoutMs: SCHEMA_TIMEOUT_MS,
        env: { ...systemEnvironment(), SQL_PASSWORD: password },
      });
    await tool('create-database');
    await tool('setup-schema', '--version', '0.0');
    await tool('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

/**
 * Starts one service of the server. The frontend must be the first: several at
 * once would race to write what the cluster is.
 */
function startTemporalService(
  service: TemporalService,
  { programs, dataDir, ports }: TemporalOptions,
  signal: AbortSignal,
): Promise<RunningPart> {
  const address = `127.0.0.1:${ports[PORT_OF[service]]}`;
  const listens = () => checkListening(address).then(() => true);
  return startServer({
    name: `temporal-${service}`,
    dataDir,
    file: programs.server,
    args: [
      '--config-file',
      configOf(dataDir),
      '--allow-no-auth',
      'start',
      '--service',
      service,
    ],
    serves: (_, ending) =>
      waitUntil(
        'it serves',
        service === 'frontend' ? () => ping(ports) : listens,
        {
          timeoutMs: READY_TIMEOUT_MS,
          signal: ending,
        },
      ),
    reason: /"level":"(?:error|fatal)"|^Unable to/,
    signal,
  });
}

function startUiServer(
  { programs, dataDir, ports }: TemporalOptions,
  signal: AbortSignal,
): Promise<RunningPart> {
  return startServer({
    name: 'temporal-ui',
    dataDir,
    file: programs.ui,
    args: [
      '--root',
      folderOf(dataDir),
      '--config',
      '.',
      '--env',
      'ui',
      'start',
    ],
    serves: (_, ending) =>
      waitUntil(
        'it serves',
        async () =>
          (await fetch(`http://127.0.0.1:${ports.temporalWeb}/healthz`)).ok ||
          undefined,
        { timeoutMs: READY_TIMEOUT_MS, signal: ending },
      ),
    reason: /error|panic/i,
    signal,
  });
}

/**
 * Creates the namespace with our search attributes, once the services have
 * found each other.
 */
async function prepareNamespace(
  ports: TemporalPorts,
  signal?: AbortSignal,
): Promise<void> {
  const namespace = TEMPORAL_NAMESPACE;
  const prepare = async (connection: Connection) => {
    await connection.workflowService
      .registerNamespace({
        namespace,
        workflowExecutionRetentionPeriod: msToTs(RETENTION_MS),
      })
      .catch((error: { code?: number }) => {
        if (error.code !== GRPC_ALREADY_EXISTS) throw error;
      });
    await registerSearchAttributes(connection, namespace);
    const { customAttributes } =
      await connection.operatorService.listSearchAttributes({ namespace });
    return (
      Object.keys(SEARCH_ATTRIBUTES).every(
        (name) => name in customAttributes,
      ) || undefined
    );
  };
  await waitUntil(
    'the namespace',
    () => withConnection(addressOf(ports), CALL_TIMEOUT_MS, prepare),
    {
      timeoutMs: READY_TIMEOUT_MS,
      signal,
    },
  );
}

const ping = (ports: TemporalPorts) =>
  withConnection(
    addressOf(ports),
    CALL_TIMEOUT_MS,
    async ({ workflowService }) => {
      await workflowService.getSystemInfo({});
      return true;
    },
  );

const addressOf = ({ temporal }: TemporalPorts) => `127.0.0.1:${temporal}`;

/**
 * A program that its Go module is built into. The versions are those of
 * docker-compose.yml.
 */
interface GoProgram {
  readonly fileName: string;
  readonly module: string;
  readonly binary: string;
}

const SERVER = '1.32.0';
const UI = '2.54.1';
const PROGRAMS = {
  server: {
    fileName: `temporal-server-${SERVER}`,
    module: `go.temporal.io/server/cmd/server@v${SERVER}`,
    binary: 'server',
  },
  schema: {
    fileName: `temporal-sql-tool-${SERVER}`,
    module: `go.temporal.io/server/cmd/tools/sql@v${SERVER}`,
    binary: 'sql',
  },
  ui: {
    fileName: `temporal-ui-server-${UI}`,
    module: `github.com/temporalio/ui-server/v2/cmd/server@v${UI}`,
    binary: 'server',
  },
} as const satisfies Record<string, GoProgram>;

/** The paths of the server, its schema tool and its UI. */
type TemporalPrograms = Readonly<Record<keyof typeof PROGRAMS, string>>;

/** The server alone took ten minutes on two busy cores. */
const BUILD_TIMEOUT_MS = 60 * 60_000;

/**
 * Returns the programs from the cache, and builds what is not there. Throws
 * when there is no Go, or a build fails.
 */
async function getTemporalPrograms(
  log: (line: string) => void,
): Promise<TemporalPrograms> {
  const paths: [string, string][] = [];
  for (const [name, program] of Object.entries(PROGRAMS))
    paths.push([
      name,
      (await findCached(program.fileName)) ?? (await build(program, log)),
    ]);
  return Object.fromEntries(paths) as TemporalPrograms;
}

async function build(
  { fileName, module, binary }: GoProgram,
  log: (line: string) => void,
): Promise<string> {
  await runCommand('go', ['version'], { timeoutMs: 10_000 }).catch(
    (error: unknown) => {
      throw error instanceof CommandError && error.code === 'ENOENT'
        ? new Error('Go is not on the PATH')
        : error;
    },
  );
  log(`Building ${module} with Go, once (minutes) …`);
  return fillCache(fileName, async (folder) => {
    const install = ['go', 'install', '-trimpath', '-ldflags=-s -w', module];
    await runCommand('env', [`GOBIN=${folder}`, 'CGO_ENABLED=0', ...install], {
      timeoutMs: BUILD_TIMEOUT_MS,
    });
    return join(folder, binary);
  });
}
