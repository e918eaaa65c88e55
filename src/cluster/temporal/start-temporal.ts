import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { allOrThrow, type StackSite } from '../../embedded/open-stack.ts';
import {
  type ServerContext,
  type StackTemporal,
  startTemporal,
  startUi,
} from '../../embedded/stack-servers.ts';
import { DATABASE_FILE } from '../../embedded/temporal-server.ts';
import type { ClusterPorts } from '../cluster-ports.ts';
import { TEMPORAL_SERVICES, type TemporalService } from './config.ts';
import { getTemporalPrograms } from './programs.ts';
import {
  prepareNamespace,
  prepareTemporal,
  SERVER_CONFIG,
  startTemporalService,
  startUiServer,
  TEMPORAL_NAMESPACE,
} from './services.ts';

/**
 * Starts a Temporal server on PostgreSQL with its services apart, and its UI. An external one is used as it is. Where the
 * server can be neither found nor built, the development server takes its place, and the log says so. A data folder keeps the
 * kind of server that it began with, because its open workflows are there. Throws if the server of such a folder cannot be had.
 */
export async function startTemporalCluster(
  site: StackSite,
  context: ServerContext & { ports: ClusterPorts },
  databaseUrl: string,
  getPrograms = getTemporalPrograms,
): Promise<StackTemporal> {
  if (context.outside.temporal !== undefined) return context.outside.temporal;
  const before = await serverOf(site.dataDir);
  if (before === 'development') {
    site.log('This data folder began with the development server, which runs again.');
    return site.step('Temporal', startTemporal(context));
  }
  const programs = await getPrograms(site.log).catch((error: Error) => error);
  if (programs instanceof Error) {
    if (before === 'built')
      throw new Error(
        `The Temporal server cannot be built (${programs.message}), and the workflows of this data folder are in it. Install Go 1.26, or begin with a new folder.`,
      );
    site.log(
      `The Temporal server cannot be built (${programs.message}); the development server runs instead, in one process with its own file database. Install Go 1.26, or set TEMPORAL_ADDRESS.`,
    );
    return site.step('Temporal', startTemporal(context));
  }
  const { group } = site;
  const { dataDir, ports } = context;
  const options = { programs, dataDir, ports, databaseUrl };
  await site.step('Temporal schema', prepareTemporal(options));
  const ui = await startUi(context);
  const startService = (service: TemporalService) => {
    const name = `temporal-${service}`;
    const start = (signal: AbortSignal) => startTemporalService(service, options, signal);
    return site.step(name, group.start({ name, start }));
  };
  const [first, ...others] = TEMPORAL_SERVICES;
  await startService(first);
  await allOrThrow([
    ...others.map(startService),
    group.start({ name: 'temporal-ui', start: (signal) => startUiServer(options, signal) }),
  ]);
  await site.step('Temporal namespace', prepareNamespace(ports));
  return { address: `127.0.0.1:${ports.temporal}`, namespace: TEMPORAL_NAMESPACE, uiUrl: ui.url, ui };
}

/** The kind of server whose workflows a data folder has; undefined if it is new. */
async function serverOf(dataDir: string): Promise<'built' | 'development' | undefined> {
  const has = (file: string) =>
    access(join(dataDir, 'temporal', file)).then(
      () => true,
      () => false,
    );
  if (await has(SERVER_CONFIG)) return 'built';
  return (await has(DATABASE_FILE)) ? 'development' : undefined;
}
