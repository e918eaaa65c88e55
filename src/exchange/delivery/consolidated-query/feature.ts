import { createConsolidatedActivities } from '../../../activities/exchange/consolidated-query.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkerPlatform } from '../../worker-platform.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { createConsolidatedBuilder } from './build.ts';
import { type ConsolidatedLauncher, createConsolidatedLauncher } from './launcher.ts';
import { addConsolidatedResultRoute, addConsolidatedRoutes } from './routes.ts';

/** Consolidated data queries: start, status (E13), and results as FHIR, html or pdf. */
export const consolidatedQueryFeature = {
  open(platform: Platform): OpenFeature<{ consolidatedQueries: ConsolidatedLauncher }> {
    const consolidatedQueries = createConsolidatedLauncher(platform);
    const { recoveries, drain } = consolidatedQueries;
    return { services: { consolidatedQueries }, recoveries, drain };
  },
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addConsolidatedRoutes> & DepsOf<typeof addConsolidatedResultRoute>,
  ) {
    addConsolidatedRoutes(operations, deps);
    open((scope) => addConsolidatedResultRoute(scope, deps));
  },
  activities(deps: WorkerPlatform & { records: RecordKeeper }) {
    const activities = createConsolidatedActivities({
      builder: createConsolidatedBuilder(deps),
      startGuard: deps.startGuard,
    });
    // The queue of the small steps keeps them all: earlier versions scheduled builds there.
    return { [TASK_QUEUES.exchange]: activities, [TASK_QUEUES.builds]: activities };
  },
} satisfies Feature;
