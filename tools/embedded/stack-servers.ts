import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../../src/contract/temporal.ts';
import type { StackSecrets } from '../../src/local-stack/connection-file.ts';
import type { RunningPart } from './child-process.ts';
import { startPostgres } from './postgres.ts';
import type { ProcessGroup } from './process-group.ts';
import type { StackOptions } from './stack-options.ts';
import type { StackPorts } from './stack-ports.ts';
import { startTemporalServer } from './temporal-server.ts';
import { type StackTemporalUi, startTemporalUi } from './temporal-ui.ts';
import { checkListening } from './wait-until.ts';

export type Closer = () => Promise<void>;

export interface ServerContext {
  readonly group: ProcessGroup;
  readonly dataDir: string;
  readonly ports: StackPorts;
  readonly secrets: StackSecrets;
  readonly outside: NonNullable<StackOptions['outside']>;
  /** Functions that are called after the stack has stopped. */
  readonly closers: Closer[];
}

/** How to reach Temporal: the stack's own, or an external one. */
export interface StackTemporal {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string | undefined;
  /** The login in front of the UI; only for the stack's own server. */
  readonly ui?: StackTemporalUi;
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Returns the address of the external database, else starts the stack's own
 * PostgreSQL.
 */
export async function startDatabase({
  group,
  dataDir,
  ports,
  outside,
}: ServerContext): Promise<string> {
  if (outside.databaseUrl !== undefined) return outside.databaseUrl;
  const port = ports.postgres;
  const logFile = join(dataDir, 'logs', 'postgres.log');
  const { databaseUrl } = await group.start({
    name: 'PostgreSQL',
    start: (signal) =>
      onSamePorts(
        { port },
        startPostgres({
          dataDir: join(dataDir, 'postgres'),
          logFile,
          port,
          signal,
        }),
      ),
  });
  return databaseUrl;
}

/**
 * Returns the external Temporal, else starts the stack's own server with the
 * login in front of its UI.
 */
export async function startTemporal(
  context: ServerContext,
): Promise<StackTemporal> {
  const { group, dataDir, ports, outside } = context;
  if (outside.temporal !== undefined) return reachable(outside.temporal);
  const ui = await startUi(context);
  const { address, namespace } = await group.start({
    name: 'Temporal',
    start: (signal) =>
      onSamePorts(
        { port: ports.temporal, uiPort: ports.temporalWeb },
        startTemporalServer({
          dataDir: join(dataDir, 'temporal'),
          logFile: join(dataDir, 'logs', 'temporal.log'),
          searchAttributes: SEARCH_ATTRIBUTES,
          port: ports.temporal,
          uiPort: ports.temporalWeb,
          signal,
        }),
      ),
  });
  return { address, namespace, uiUrl: ui.url, ui };
}

/**
 * Returns an external Temporal. Throws if nothing listens there, which the
 * worker would report only after half a minute.
 */
export async function reachable(
  temporal: StackTemporal,
): Promise<StackTemporal> {
  await checkListening(temporal.address).catch(() => {
    throw new Error(
      `Temporal cannot be reached at ${temporal.address}. Check that it is running and that TEMPORAL_ADDRESS is correct.`,
    );
  });
  return temporal;
}

/** Starts the login in front of the server's own UI, which follows later. */
export async function startUi({
  ports,
  secrets,
  closers,
}: ServerContext): Promise<StackTemporalUi> {
  const ui = await startTemporalUi({
    dataKeys: secrets.dataKeys,
    codecToken: secrets.codecToken,
    port: ports.temporalUi,
    upstream: `http://127.0.0.1:${ports.temporalWeb}`,
  });
  closers.push(() => ui.close());
  return ui;
}

/**
 * Stops a server that is not on the expected ports, because the other parts
 * would not reach it, and throws.
 */
async function onSamePorts<
  P extends Readonly<Record<string, number>>,
  R extends RunningPart & P,
>(ports: P, start: Promise<R>): Promise<R> {
  const running = await start;
  const taken = Object.keys(ports).find(
    (name) => running[name as keyof P] !== ports[name],
  );
  if (taken === undefined) return running;
  await running.stop();
  throw new Error(`Port ${ports[taken]} is in use by another process`);
}
