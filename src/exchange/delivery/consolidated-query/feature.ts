import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import { addConsolidatedResultRoute, addConsolidatedRoutes } from './routes.ts';
import type { ConsolidatedLauncher } from './transitions.ts';

/**
 * Consolidated data queries: start, status (E13), and results as FHIR, html or
 * pdf.
 */
export const consolidatedQueryFeature = {
  open: ({
    consolidatedQueries,
  }: {
    consolidatedQueries: ConsolidatedLauncher;
  }): OpenFeature => consolidatedQueries,
  routes(
    { operations, open }: GatewayScopes,
    deps: DepsOf<typeof addConsolidatedRoutes> &
      DepsOf<typeof addConsolidatedResultRoute>,
  ) {
    addConsolidatedRoutes(operations, deps);
    open((scope) => addConsolidatedResultRoute(scope, deps));
  },
} satisfies Feature;
