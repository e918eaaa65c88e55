import { createRecordActivities } from '../../../activities/exchange/network-query-record.ts';
import { createSourceActivities } from '../../../activities/exchange/network-query-source.ts';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkerPlatform } from '../../worker-platform.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import type { SourceHealth } from '../../sources/health/source-health.ts';
import { addSourceCallbackRoute } from './callback-route.ts';
import type { Launcher } from './launcher.ts';
import { abandonedJobRecovery, networkQueryRecovery } from './recovery.ts';
import { addNetworkQueryRoutes } from './routes.ts';
import { createNetworkQueryService, type NetworkQueryService } from './service.ts';
import { createSourceCallbacks, type SourceCallbacks } from './source-callback.ts';

/** Network queries: E2, E3, retry, give up and cancel, and the sources' callbacks. */
export const networkQueryFeature = {
  open(platform: Platform): OpenFeature<{
    networkQueries: NetworkQueryService & { launcher: Launcher };
    sourceCallbacks: SourceCallbacks;
  }> {
    const { callbackSecrets: secrets } = platform;
    const networkQueries = createNetworkQueryService(platform);
    const sourceCallbacks = createSourceCallbacks({ ...platform, secrets });
    return {
      services: { networkQueries, sourceCallbacks },
      recoveries: [
        networkQueryRecovery({ ...platform, launcher: networkQueries.launcher }),
        abandonedJobRecovery(platform),
      ],
      drain: networkQueries.drain,
    };
  },
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addNetworkQueryRoutes> & DepsOf<typeof addSourceCallbackRoute>,
  ) {
    addNetworkQueryRoutes(operations, deps);
    open((scope) => addSourceCallbackRoute(scope, deps));
  },
  activities(deps: WorkerPlatform & { records: RecordKeeper; sourceHealth: SourceHealth }) {
    const { callbackSecrets, publicBaseUrl } = deps;
    const ofSources = createSourceActivities({
      ...deps,
      // A connection of an account has its own secret, or announces no callbacks.
      callbackBaseUrl: (source: SourceType, connectionId?: string) =>
        connectionId === undefined && callbackSecrets[source] === undefined
          ? undefined
          : `${publicBaseUrl}/sources/callback`,
    });
    return {
      [TASK_QUEUES.exchange]: createRecordActivities(deps),
      ...Object.fromEntries(SOURCE_TYPES.map((source) => [TASK_QUEUES.source(source), ofSources])),
    };
  },
} satisfies Feature;
