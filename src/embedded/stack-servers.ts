import { join } from 'node:path';
import { SEARCH_ATTRIBUTES } from '../contract/temporal.ts';
import { startPostgres } from './postgres.ts';
import type { ProcessGroup } from './process-group.ts';
import type { RunningPart } from './running-part.ts';
import type { StackOptions } from './stack-options.ts';
import type { StackPorts } from './stack-ports.ts';
import type { StackSecrets } from './stack-secrets.ts';
import { startTemporalServer } from './temporal-server.ts';
import { startUiCodec } from './ui-codec.ts';

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
  readonly codecUrl?: string | undefined;
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
      onSamePort(port, startPostgres({ dataDir: join(dataDir, 'postgres'), logFile, port, signal })),
  });
  return databaseUrl;
}

/** The Temporal outside, or our own server, started, with the codec server that its UI asks. */
export async function startTemporal(context: ServerContext): Promise<StackTemporal> {
  const { group, dataDir, ports, secrets, outside, closers } = context;
  if (outside.temporal !== undefined) return outside.temporal;
  const codec = await startUiCodec(secrets, ports);
  closers.push(() => codec.close());
  const { address, namespace, uiUrl } = await group.start({
    name: 'Temporal',
    start: (signal) =>
      onSamePort(
        ports.temporal,
        startTemporalServer({
          dataDir: join(dataDir, 'temporal'),
          logFile: join(dataDir, 'logs', 'temporal.log'),
          codecEndpoint: codec.endpoint,
          searchAttributes: SEARCH_ATTRIBUTES,
          port: ports.temporal,
          uiPort: ports.temporalUi,
          signal,
        }),
      ),
  });
  return { address, namespace, uiUrl, codecUrl: codec.endpoint };
}

/** The other parts were told this port, so on another one it serves nobody. */
async function onSamePort<R extends RunningPart & { port: number }>(
  port: number,
  start: Promise<R>,
): Promise<R> {
  const running = await start;
  if (running.port === port) return running;
  await running.stop();
  throw new Error(`port ${port} is taken`);
}
