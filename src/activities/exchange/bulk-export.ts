import type {
  BulkExportInput,
  BulkExportProgress,
} from '../../contract/bulk-export-workflow.ts';
import type { ExportRunner } from '../../exchange/delivery/bulk-export/run-export.ts';
import type { StartGuard } from '../../exchange/platform/recovery/start-guard.ts';
import { withHeartbeat } from './heartbeat.ts';

export type BulkExportActivities = ReturnType<
  typeof createBulkExportActivities
>;

/**
 * The steps of a bulk export. Each may run twice: the export's row shows what
 * is done.
 */
export function createBulkExportActivities({
  runner,
  startGuard,
}: {
  runner: ExportRunner;
  startGuard: StartGuard;
}) {
  return {
    listExportPatients: (of: BulkExportInput): Promise<BulkExportProgress> =>
      withHeartbeat({}, () => runner.listPatients(of)),

    /** Writes slices for half a minute, or to the end. */
    exportSlices: (of: BulkExportInput): Promise<BulkExportProgress> =>
      withHeartbeat({}, async (signal) => {
        const { accountId, exportId } = of;
        const progress = await runner.checkpoint(of);
        return startGuard.run(
          { accountId, name: `bulk-export/${exportId}`, progress },
          signal,
          () => runner.writeSlices(of, signal),
        );
      }),

    failExport: ({
      reason,
      ...of
    }: BulkExportInput & { reason: string }): Promise<BulkExportProgress> =>
      runner.fail(of, reason),
  };
}
