import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createRedriveLauncher, type RedriveLauncher } from './launcher.ts';
import { addQueryRedriveRoutes } from './routes.ts';

/** Redrives: one source of many queries that failed is retried, paced (decision 97). */
export const queryRedriveFeature = {
  open(platform: Platform): OpenFeature<{ queryRedrives: RedriveLauncher }> {
    const queryRedrives = createRedriveLauncher(platform);
    return { services: { queryRedrives }, recoveries: [queryRedrives.recovery], drain: queryRedrives.drain };
  },
  routes: ({ operations }: GatewayScopes, deps: DepsOf<typeof addQueryRedriveRoutes>) =>
    addQueryRedriveRoutes(operations, deps),
} satisfies Feature;
