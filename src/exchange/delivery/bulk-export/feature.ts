import { createBulkExportActivities } from '../../../activities/exchange/bulk-export.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import type { DepsOf, Feature, GatewayScopes, OpenFeature } from '../../platform/feature.ts';
import type { Platform } from '../../platform/platform.ts';
import type { WorkerPlatform } from '../../worker-platform.ts';
import type { RecordKeeper } from '../../records/record-keeper.ts';
import { createExportLauncher, type ExportLauncher } from './launcher.ts';
import { addExportRoutes } from './routes.ts';
import { createExportRunner } from './run-export.ts';

/** FHIR Bulk Data exports of a cohort, or of all patients (docs/fhir.md). */
export const bulkExportFeature = {
  open(platform: Platform): OpenFeature<{ bulkExports: ExportLauncher }> {
    const bulkExports = createExportLauncher(platform);
    return { services: { bulkExports }, recoveries: bulkExports.recoveries, drain: bulkExports.drain };
  },
  routes: ({ authenticated }: GatewayScopes, deps: DepsOf<typeof addExportRoutes>) =>
    authenticated((scope) => addExportRoutes(scope, deps)),
  activities(deps: WorkerPlatform & { records: RecordKeeper }) {
    const { startGuard } = deps;
    const activities = createBulkExportActivities({ runner: createExportRunner(deps), startGuard });
    const { failExport, ...builds } = activities;
    return { [TASK_QUEUES.exchange]: { failExport }, [TASK_QUEUES.builds]: builds };
  },
} satisfies Feature;
