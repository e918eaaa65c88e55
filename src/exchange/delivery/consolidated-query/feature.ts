import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { addConsolidatedResultRoute, addConsolidatedRoutes } from './routes.ts';
import {
  type ConsolidatedLauncher,
  createConsolidatedLauncher,
} from './transitions.ts';

/**
 * Consolidated data queries: start, status (E13), and results as FHIR, html or
 * pdf.
 */
export const consolidatedQueryFeature = {
  open(
    platform: Platform,
  ): OpenFeature<{ consolidatedQueries: ConsolidatedLauncher }> {
    const consolidatedQueries = createConsolidatedLauncher(platform);
    const { recoveries, drain } = consolidatedQueries;
    return { services: { consolidatedQueries }, recoveries, drain };
  },
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addConsolidatedRoutes> &
      DepsOf<typeof addConsolidatedResultRoute>,
  ) {
    addConsolidatedRoutes(operations, deps);
    open((scope) => addConsolidatedResultRoute(scope, deps));
  },
} satisfies Feature;
