import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { systemEnvironment } from '../../config.ts';
import { SEARCH_ATTRIBUTES } from '../../contract/temporal.ts';
import type { RunningPart } from '../../embedded/running-part.ts';
import { checkListening } from '../../embedded/temporal-ready.ts';
import { runCommand } from '../../lib/run-command.ts';
import { withConnection } from '../../temporal/connection.ts';
import { registerSearchAttributes } from '../../temporal/register-search-attributes.ts';
import { startServerProcess } from '../server-process.ts';
import { waitUntil } from '../wait-until.ts';
import {
  serverConfig,
  TEMPORAL_DATABASES,
  type TemporalPorts,
  type TemporalService,
  uiConfig,
} from './config.ts';
import type { TemporalPrograms } from './programs.ts';

export interface TemporalOptions {
  programs: TemporalPrograms;
  dataDir: string;
  ports: TemporalPorts;
  /** Superuser address of PostgreSQL. */
  databaseUrl: string;
}

export const TEMPORAL_NAMESPACE = 'default';
/** In the folder `temporal` of the data folder. */
export const SERVER_CONFIG = 'server.yaml';
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
const configOf = (dataDir: string): string => join(folderOf(dataDir), SERVER_CONFIG);

/** Creates or migrates Temporal's two databases, and writes the configuration of its services. */
export async function prepareTemporal({
  programs,
  dataDir,
  ports,
  databaseUrl,
}: TemporalOptions): Promise<void> {
  const { hostname, port, username: user, password } = new URL(databaseUrl);
  await mkdir(folderOf(dataDir), { recursive: true, mode: 0o700 });
  const files = [
    [configOf(dataDir), serverConfig(ports, { address: `${hostname}:${port}`, user, password })],
    [join(folderOf(dataDir), 'ui.yaml'), uiConfig(ports)],
  ] as const;
  for (const [path, content] of files) await writeFile(path, JSON.stringify(content), { mode: 0o600 });

  const login = ['--plugin', 'postgres12', '--endpoint', hostname, '--port', port, '--user', user];
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

/** Starts one service of the server. The frontend must be the first: several at once would race to write what the cluster is. */
export function startTemporalService(
  service: TemporalService,
  { programs, dataDir, ports }: TemporalOptions,
  signal: AbortSignal,
): Promise<RunningPart> {
  const address = `127.0.0.1:${ports[PORT_OF[service]]}`;
  const listens = () => checkListening(address).then(() => true);
  return startServerProcess({
    name: `temporal-${service}`,
    dataDir,
    file: programs.server,
    args: ['--config-file', configOf(dataDir), '--allow-no-auth', 'start', '--service', service],
    serves: () =>
      waitUntil(`temporal-${service}`, service === 'frontend' ? () => ping(ports) : listens, {
        timeoutMs: READY_TIMEOUT_MS,
        signal,
      }),
    reason: /"level":"(?:error|fatal)"|^Unable to/,
  });
}

export function startUiServer(
  { programs, dataDir, ports }: TemporalOptions,
  signal: AbortSignal,
): Promise<RunningPart> {
  return startServerProcess({
    name: 'temporal-ui',
    dataDir,
    file: programs.ui,
    args: ['--root', folderOf(dataDir), '--config', '.', '--env', 'ui', 'start'],
    serves: () =>
      waitUntil(
        'the UI',
        async () => (await fetch(`http://127.0.0.1:${ports.temporalWeb}/healthz`)).ok || undefined,
        { timeoutMs: READY_TIMEOUT_MS, signal },
      ),
    reason: /error|panic/i,
  });
}

/** Creates the namespace with our search attributes, once the services have found each other. */
export async function prepareNamespace(ports: TemporalPorts, signal?: AbortSignal): Promise<void> {
  const namespace = TEMPORAL_NAMESPACE;
  const prepare = async (connection: Connection) => {
    await connection.workflowService
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod: msToTs(RETENTION_MS) })
      .catch((error: { code?: number }) => {
        if (error.code !== GRPC_ALREADY_EXISTS) throw error;
      });
    await registerSearchAttributes(connection, namespace);
    const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
    return Object.keys(SEARCH_ATTRIBUTES).every((name) => name in customAttributes) || undefined;
  };
  await waitUntil('the namespace', () => withConnection(addressOf(ports), CALL_TIMEOUT_MS, prepare), {
    timeoutMs: READY_TIMEOUT_MS,
    signal,
  });
}

const ping = (ports: TemporalPorts) =>
  withConnection(addressOf(ports), CALL_TIMEOUT_MS, async ({ workflowService }) => {
    await workflowService.getSystemInfo({});
    return true;
  });

const addressOf = ({ temporal }: TemporalPorts) => `127.0.0.1:${temporal}`;
