import { createSweepActivities } from '../../../activities/exchange/query-sweep.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import type { Launcher } from '../network-query/launcher.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkerPlatform } from '../../worker-platform.ts';
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
  activities: ({
    store,
    callbackKey,
    networkQueries,
  }: WorkerPlatform & { networkQueries: { launcher: Launcher } }) => ({
    [TASK_QUEUES.exchange]: createSweepActivities({ store, launcher: networkQueries.launcher, callbackKey }),
  }),
} satisfies Feature;
