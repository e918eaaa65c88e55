import {
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { BulkExportActivities } from '../../../activities/exchange/bulk-export.ts';
import {
  type BulkExportInput,
  type BulkExportProgress,
  type BulkExportStatus,
  BULK_EXPORT_MESSAGES as MESSAGES,
  BULK_EXPORT_END_REASONS as REASONS,
} from '../../../contract/bulk-export-workflow.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { endAfter, rowActivities } from '../../shared/failures.ts';
import { inOwnLane } from '../../shared/own-run.ts';

/**
 * Failures on our side are retried until the step's deadline. A killed step
 * continues after its last slice within seconds.
 */
const builds = () =>
  proxyActivities<
    Pick<BulkExportActivities, 'listExportPatients' | 'exportSlices'>
  >({
    taskQueue: inOwnLane(TASK_QUEUES.builds),
    startToCloseTimeout: '1 hour',
    scheduleToCloseTimeout: '24 hours',
    heartbeatTimeout: '15 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '5 minutes' },
  });
const { failExport } = rowActivities<Pick<BulkExportActivities, 'failExport'>>(
  'End the export as failed',
);

/**
 * Writes the records of a cohort, or of all patients of an account, as NDJSON
 * files (FHIR Bulk Data Access).
 *
 * Durable because it takes minutes to hours. Keyed by the export's id. The
 * export's row in PostgreSQL is the source of truth and holds the checkpoint; a
 * caller cancels by changing the row, which each slice obeys. History: 6 events
 * per half minute of work; new history when Temporal suggests it.
 */
export async function bulkExport(
  input: BulkExportInput,
): Promise<BulkExportProgress> {
  let progress: BulkExportProgress = {
    state: 'running',
    done: 0,
    resources: 0,
  };
  let isPaused = false;
  setHandler(defineQuery<BulkExportStatus>(MESSAGES.status), () => ({
    ...progress,
    isPaused,
  }));
  setHandler(defineSignal(MESSAGES.pause), () => {
    isPaused = true;
  });
  setHandler(defineSignal(MESSAGES.resume), () => {
    isPaused = false;
  });

  const { listExportPatients, exportSlices } = builds();
  try {
    progress = await listExportPatients(input);
    while (progress.state === 'running') {
      setCurrentDetails(detailsOf(progress));
      await condition(() => !isPaused);
      progress = await exportSlices(input);
      if (
        progress.state === 'running' &&
        !isPaused &&
        workflowInfo().continueAsNewSuggested
      )
        await continueAsNew<typeof bulkExport>(input);
    }
  } catch (error) {
    progress = await endAfter(error, (byOperator) =>
      failExport({
        ...input,
        reason: byOperator ? REASONS.byOperator : REASONS.ourFault,
      }),
    );
  }
  setCurrentDetails(detailsOf(progress));
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: progress.state },
  ]);
  return progress;
}

const detailsOf = ({
  state,
  patients,
  done,
  resources,
}: BulkExportProgress): string =>
  `**${state}**: ${done} of ${patients ?? '?'} patients, ${resources} resources`;
