import { createRedriveActivities } from '../../../activities/exchange/query-redrive.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import type { Launcher } from '../network-query/launcher.ts';
import type { NetworkQueryService } from '../network-query/service.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkerPlatform } from '../../worker-platform.ts';
import { createRedriveLauncher, type RedriveLauncher } from './launcher.ts';
import { createRedriver } from './redriver.ts';
import { addQueryRedriveRoutes } from './routes.ts';

/** Redrives: one source of many queries that failed is retried, paced (decision 97). */
export const queryRedriveFeature = {
  open(platform: Platform): OpenFeature<{ queryRedrives: RedriveLauncher }> {
    const queryRedrives = createRedriveLauncher(platform);
    return { services: { queryRedrives }, recoveries: [queryRedrives.recovery], drain: queryRedrives.drain };
  },
  routes: ({ operations }: GatewayScopes, deps: DepsOf<typeof addQueryRedriveRoutes>) =>
    addQueryRedriveRoutes(operations, deps),
  activities({
    store,
    callbackKey,
    networkQueries,
  }: WorkerPlatform & { networkQueries: NetworkQueryService & { launcher: Launcher } }) {
    const { launcher } = networkQueries;
    const redriver = createRedriver({ store, queries: networkQueries, launcher, callbackKey });
    return { [TASK_QUEUES.exchange]: createRedriveActivities({ redriver }) };
  },
} satisfies Feature;
