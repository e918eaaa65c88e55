import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { createWebhookKeys } from '../exchange/platform/outbox/webhook-key.ts';
import { parseKeyRing } from '../lib/key-ring.ts';
import { closeToOthers } from './close-to-others.ts';
import { removeConnection, type StackConnection, writeConnection } from './connection-file.ts';
import { startNodeProcess } from './node-process.ts';
import { startObservers } from './observers.ts';
import { stopLeftOverNodeProcesses } from './pid-files.ts';
import { stopLeftOverPostgres } from './postgres.ts';
import { runsAsOtherUser } from './postgres-launcher.ts';
import { ProcessGroup } from './process-group.ts';
import { ensureServiceLogin, prepareDatabase } from './stack-database.ts';
import {
  type Environment,
  gatewayEnvironment,
  gatewayUrl,
  receiverEnvironment,
  receiverUrl,
  type StackFacts,
  simulatorEnvironment,
  simulatorUrl,
  workerEnvironment,
} from './stack-environment.ts';
import { lockDataFolder } from './stack-lock.ts';
import { createStackLog } from './stack-log.ts';
import type { ProcessName, StackOptions } from './stack-options.ts';
import { ensurePorts } from './stack-ports.ts';
import { ensureSecrets } from './stack-secrets.ts';
import { startDatabase, startTemporal } from './stack-servers.ts';
import { stopLeftOverTemporalServer } from './temporal-server.ts';
import type { TemporalUi } from './temporal-ui.ts';

export interface Stack {
  readonly connection: StackConnection;
  /** Current pids by part name. */
  pids(): Record<string, number>;
  /** Restarts one of our processes with the current code. */
  restart(name: ProcessName): Promise<void>;
  /** Stops all parts in reverse order. Never rejects; may be called again. */
  stop(): Promise<void>;
}

/** Longer than stopping all parts takes, each of which is killed when it takes too long. */
export const STOP_TIMEOUT_MS = 180_000;

/**
 * Starts the whole system on one machine, with its state in one folder: PostgreSQL, Temporal, the simulated sources, the
 * gateway, the receiver and a worker. Resolves when all of them serve. If one does not start, stops the others and throws
 * its reason. Later, a part that dies is restarted on the same port. Throws DataFolderInUseError.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
  const dataDir = await realpath(options.dataDir);
  await closeToOthers(dataDir, options.outside?.databaseUrl === undefined && (await runsAsOtherUser()));
  const release = await lockDataFolder(dataDir);
  const log = createStackLog(dataDir, options.log);
  const group = new ProcessGroup({ log });
  const closers: (() => Promise<void>)[] = [];
  const stop = async () => {
    await removeConnection(dataDir);
    await group.stop();
    await Promise.all(closers.splice(0).map((close) => close()));
    await release();
  };
  const onAbort = () => void group.stop();
  options.signal?.addEventListener('abort', onAbort, { once: true });
  try {
    options.signal?.throwIfAborted();
    const { connection, ui } = await startParts({ ...options, dataDir, log }, group, closers);
    await writeConnection(dataDir, connection);
    let stopped: Promise<void> | undefined;
    ui?.onNextLink(async (temporalUiLink) => {
      if (stopped === undefined) await writeConnection(dataDir, { ...connection, temporalUiLink });
    });
    return {
      connection,
      pids: () => group.pids(),
      restart: (name) => group.restart(name),
      stop: () => {
        stopped ??= stop();
        return stopped;
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Limits the worker's heap: with the default limit of 4 GB, Node.js collects garbage so late that importing a CSV takes
 * 300 MB more. The worker's image has the same limit (docker-compose.yml).
 */
const NODE_ARGS: Partial<Record<ProcessName, readonly string[]>> = { worker: ['--max-old-space-size=1536'] };

async function startParts(
  options: StackOptions & { log(line: string): void },
  group: ProcessGroup,
  closers: (() => Promise<void>)[],
): Promise<{ connection: StackConnection; ui?: TemporalUi | undefined }> {
  const { dataDir, outside = {}, logLevel = 'info' } = options;
  await stopLeftOverNodeProcesses(dataDir);
  await stopLeftOverTemporalServer(join(dataDir, 'temporal'));
  await stopLeftOverPostgres(join(dataDir, 'postgres'));
  const secrets = await ensureSecrets(dataDir);
  const ports = await ensurePorts(dataDir, options.ports);

  const step = async <T>(part: string, work: Promise<T>): Promise<T> => {
    const onReady = options.onStart?.(part);
    const done = await work;
    onReady?.();
    return done;
  };
  const startNode = (name: ProcessName, environment: Environment) =>
    step(
      name,
      group.start({
        name,
        start: (signal) =>
          startNodeProcess({
            name,
            entry: `${name}.ts`,
            dataDir,
            env: { ...environment, ...options.environment?.[name] },
            nodeArgs: [...(NODE_ARGS[name] ?? []), ...(options.nodeArgs?.[name] ?? [])],
            signal,
          }),
      }),
    );
  const context = { group, dataDir, ports, secrets, outside, closers };
  const [databaseUrl, temporal] = await allOrThrow([
    step('PostgreSQL', startDatabase(context)),
    step('Temporal', startTemporal(context)),
    startNode('simulator', simulatorEnvironment({ dataDir, logLevel, ports, secrets })),
  ]);
  const seed = {
    apiKey: secrets.apiKey,
    webhookKey: secrets.webhookKey,
    webhookKeys: createWebhookKeys(parseKeyRing(secrets.dataKeys)),
    webhookUrl: `${receiverUrl(ports)}/webhooks`,
  };
  const account = await step('database schema', prepareDatabase(databaseUrl, seed));
  const facts: StackFacts = {
    dataDir,
    logLevel,
    secrets,
    ports,
    databaseUrl:
      outside.databaseUrl ?? (await ensureServiceLogin(databaseUrl, secrets.serviceDatabasePassword)),
    temporal: {
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      ...temporal.environment,
    },
    accountId: account.accountId,
    webhookKey: account.webhookKey,
    sources: outside.sources ?? {},
  };
  await allOrThrow([
    startNode('gateway', gatewayEnvironment(facts)),
    startNode('receiver', receiverEnvironment(facts)),
    // Last, so that it stops first: the work that it finishes needs all the other parts.
    startNode('worker', workerEnvironment(facts)),
  ]);
  const observers = options.observe
    ? await step('observers', startObservers({ group, dataDir, ports, log: options.log }))
    : {};
  const connection: StackConnection = {
    ...observers,
    pid: process.pid,
    baseUrl: gatewayUrl(ports),
    apiKey: account.apiKey,
    accountId: account.accountId,
    facilityId: account.facilityId,
    temporalAddress: temporal.address,
    temporalNamespace: temporal.namespace,
    temporalUiUrl: temporal.uiUrl,
    temporalUiLink: temporal.ui?.link(),
    databaseUrl,
    simulatorUrl: simulatorUrl(ports),
    simulatorAdminToken: secrets.simulatorAdminToken,
    receiverUrl: receiverUrl(ports),
    codecUrl: temporal.ui?.codecUrl,
    codecToken: temporal.ui === undefined ? undefined : secrets.codecToken,
  };
  return { connection, ui: temporal.ui };
}

/** Waits for all promises even when one rejects, so that all parts have started before they are stopped. */
async function allOrThrow<T extends readonly unknown[]>(
  promises: readonly [...{ [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  await Promise.allSettled(promises);
  return (await Promise.all(promises)) as unknown as T;
}
