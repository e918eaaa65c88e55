import { allOrThrow, type StackSite } from '../../embedded/open-stack.ts';
import {
  type ServerContext,
  type StackTemporal,
  startTemporal,
  startUi,
} from '../../embedded/stack-servers.ts';
import type { ClusterPorts } from '../cluster-ports.ts';
import { TEMPORAL_SERVICES, type TemporalService } from './config.ts';
import { getTemporalPrograms } from './programs.ts';
import {
  prepareNamespace,
  prepareTemporal,
  startTemporalService,
  startUiServer,
  TEMPORAL_NAMESPACE,
} from './services.ts';

/**
 * Starts a Temporal server on PostgreSQL with its services apart, and its UI. An external one is used as it is. Where the
 * server can be neither found nor built, the development server takes its place, and the log says so.
 */
export async function startTemporalCluster(
  site: StackSite,
  context: ServerContext & { ports: ClusterPorts },
  databaseUrl: string,
): Promise<StackTemporal> {
  if (context.outside.temporal !== undefined) return context.outside.temporal;
  const programs = await getTemporalPrograms(site.log).catch((error: Error) => error);
  if (programs instanceof Error) {
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
