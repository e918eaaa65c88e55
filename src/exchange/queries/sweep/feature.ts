import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createSweepControl, type SweepControl } from './control.ts';
import { sweepRecovery } from './launcher.ts';
import { addQuerySweepRoutes } from './routes.ts';

/** Post-import queries: after a bulk create, one query for each of its patients, paced. */
export const querySweepFeature = {
  open({ store, temporal }: Platform): OpenFeature<{ querySweeps: SweepControl }> {
    return {
      services: { querySweeps: createSweepControl({ store, temporal }) },
      recoveries: [sweepRecovery({ store, temporal })],
      drain: async () => undefined,
    };
  },
  routes: ({ operations }: GatewayScopes, deps: DepsOf<typeof addQuerySweepRoutes>) =>
    addQuerySweepRoutes(operations, deps),
} satisfies Feature;
