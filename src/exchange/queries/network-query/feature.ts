import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Launcher } from './launcher.ts';
import { abandonedJobRecovery, networkQueryRecovery } from './recovery.ts';
import { addNetworkQueryRoutes } from './routes.ts';
import { createNetworkQueryService, type NetworkQueryService } from './service.ts';
import { addSourceCallbackRoute, createSourceCallbacks, type SourceCallbacks } from './source-callback.ts';

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
} satisfies Feature;
