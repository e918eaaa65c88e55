import type {
  DepsOf,
  Feature,
  GatewayScopes,
  OpenFeature,
} from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import { createExportLauncher, type ExportLauncher } from './launcher.ts';
import { addExportRoutes } from './routes.ts';
import { addViewRoutes } from './view-routes.ts';

/**
 * FHIR Bulk Data exports of a cohort, or of all patients (docs/fhir.md), and
 * runs of views over them (docs/analytics.md).
 */
export const bulkExportFeature = {
  open(platform: Platform): OpenFeature<{ bulkExports: ExportLauncher }> {
    const bulkExports = createExportLauncher(platform);
    return {
      services: { bulkExports },
      recoveries: bulkExports.recoveries,
      drain: bulkExports.drain,
    };
  },
  routes: (
    { authenticated }: GatewayScopes,
    deps: DepsOf<typeof addExportRoutes>,
  ) =>
    authenticated((scope) => {
      addExportRoutes(scope, deps);
      addViewRoutes(scope, deps);
    }),
} satisfies Feature;
