import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { ExportLauncher } from './launcher.ts';
import { addExportRoutes } from './routes.ts';
import { addViewRoutes } from './view-routes.ts';

/**
 * FHIR Bulk Data exports of a cohort, or of all patients (docs/fhir.md), and
 * runs of views over them (docs/analytics.md).
 */
export const bulkExportFeature = {
  open: ({ bulkExports }: { bulkExports: ExportLauncher }): OpenFeature =>
    bulkExports,
  routes: (
    { authenticated }: GatewayScopes,
    deps: DepsOf<typeof addExportRoutes>,
  ) =>
    authenticated((scope) => {
      addExportRoutes(scope, deps);
      addViewRoutes(scope, deps);
    }),
} satisfies Feature;
