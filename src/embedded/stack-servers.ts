import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../contract/temporal.ts';
import { startPostgres } from './postgres.ts';
import type { ProcessGroup } from './process-group.ts';
import type { RunningPart } from './running-part.ts';
import type { StackOptions } from './stack-options.ts';
import type { StackPorts } from './stack-ports.ts';
import type { StackSecrets } from './stack-secrets.ts';
import { startTemporalServer } from './temporal-server.ts';
import { startTemporalUi, type TemporalUi } from './temporal-ui.ts';

export interface ServerContext {
  readonly group: ProcessGroup;
  readonly dataDir: string;
  readonly ports: StackPorts;
  readonly secrets: StackSecrets;
  readonly outside: NonNullable<StackOptions['outside']>;
  /** Called when the stack has stopped. */
  readonly closers: (() => Promise<void>)[];
}

/** How the stack's Temporal is reached, its own or one outside. */
export interface StackTemporal {
  readonly address: string;
  readonly namespace: string;
  readonly uiUrl?: string | undefined;
  /** Of our own server: the operator's way into its UI. */
  readonly ui?: TemporalUi;
  readonly environment?: Readonly<Record<string, string>>;
}

/** Address of the database: the one outside, or our own server, started. */
export async function startDatabase({ group, dataDir, ports, outside }: ServerContext): Promise<string> {
  if (outside.databaseUrl !== undefined) return outside.databaseUrl;
  const port = ports.postgres;
  const logFile = join(dataDir, 'logs', 'postgres.log');
  const { databaseUrl } = await group.start({
    name: 'PostgreSQL',
    start: (signal) =>
      onSamePorts({ port }, startPostgres({ dataDir: join(dataDir, 'postgres'), logFile, port, signal })),
  });
  return databaseUrl;
}

/** The Temporal outside, or our own server, started, with the operator's way into its UI. */
export async function startTemporal(context: ServerContext): Promise<StackTemporal> {
  const { group, dataDir, ports, secrets, outside, closers } = context;
  if (outside.temporal !== undefined) return outside.temporal;
  const ui = await startTemporalUi({
    dataKeys: secrets.dataKeys,
    codecToken: secrets.codecToken,
    port: ports.temporalUi,
    upstream: `http://127.0.0.1:${ports.temporalWeb}`,
  });
  closers.push(() => ui.close());
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

/** The other parts know these ports; on others it would serve none of them. */
async function onSamePorts<P extends Readonly<Record<string, number>>, R extends RunningPart & P>(
  ports: P,
  start: Promise<R>,
): Promise<R> {
  const running = await start;
  const taken = Object.keys(ports).find((name) => running[name as keyof P] !== ports[name]);
  if (taken === undefined) return running;
  await running.stop();
  throw new Error(`port ${ports[taken]} is taken`);
}
