import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  CancelledFailure,
  defineQuery,
  defineSignal,
  defineUpdate,
  ParentClosePolicy,
  setCurrentDetails,
  setHandler,
  startChild,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  type BulkCreateProgress,
  type BulkPatientCreateInput,
  DEFAULT_SWEEP_PACE,
  BULK_CREATE_MESSAGES as MESSAGES,
  type QuerySweepInput,
} from '../../../contract/bulk-create-workflow.ts';
import {
  querySweepWorkflowId,
  WORKFLOW_TYPES,
} from '../../../contract/temporal.ts';
import { workflowDetails } from '../../../contract/workflow-details.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { rejected } from '../../shared/failures.ts';
import { BulkProgress, BulkRun } from './run.ts';

/**
 * Creates or updates patients from one uploaded CSV: waits for the file, checks
 * it, processes its rows, writes the result file, and starts a `querySweep` for
 * the queries of its patients.
 *
 * Durable because the upload may arrive minutes later, processing takes a while
 * and may be paused for days, and no row may be lost or written twice. Keyed by
 * the request id. The request's row in PostgreSQL is the source of truth; every
 * step resumes from it and may run twice. History: about 40 events, plus 6 per
 * activity that processes rows (5 s each at first, later 60 s), so fewer than
 * 200 for 100,000 rows.
 */
export async function bulkPatientCreate(
  input: BulkPatientCreateInput,
): Promise<BulkCreateProgress> {
  const progress = new BulkProgress(input.requestId, (now) =>
    setCurrentDetails(now.toMarkdown()),
  );
  const run = new BulkRun(input, progress);

  setHandler(defineQuery<BulkCreateProgress>(MESSAGES.status), () =>
    progress.snapshot(),
  );
  setHandler(defineSignal(MESSAGES.uploaded), () => run.uploadSignaled());
  setHandler(defineUpdate<void, []>(MESSAGES.pause), () => run.pause(), {
    validator: () => {
      if (!progress.canPause) throw rejected('All rows have been processed');
      if (progress.paused) throw rejected('The bulk create is already paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.resume), () => run.resume(), {
    validator: () => {
      // The row decides whether it is paused: a workflow that was started again
      // has not read it yet.
      if (progress.hasEnded)
        throw rejected('The bulk create has already ended');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.cancel), () => run.cancel(), {
    validator: () => {
      if (progress.hasEnded)
        throw rejected('The bulk create has already ended');
    },
  });

  const sweep = await run.untilEnded();
  if (sweep) await startSweep(input);

  const result = progress.snapshot();
  upsertSearchAttributes([
    { key: searchAttribute.queryStatus, value: result.state },
  ]);
  if (CancellationScope.current().consideredCancelled)
    throw new CancelledFailure('Cancelled by an operator');
  return result;
}

/**
 * Starts the sweep as an abandoned child, because it runs long after this
 * workflow ends. Starts it even when this workflow is being cancelled, because
 * the patients exist by now. `reconcile` may have started it already; that is
 * fine.
 */
async function startSweep({
  accountId,
  requestId,
}: BulkPatientCreateInput): Promise<void> {
  const input: QuerySweepInput = {
    accountId,
    requestId,
    pace: DEFAULT_SWEEP_PACE,
  };
  await CancellationScope.nonCancellable(() =>
    startChild(WORKFLOW_TYPES.querySweep, {
      workflowId: querySweepWorkflowId(requestId),
      args: [input],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      typedSearchAttributes: [
        { key: searchAttribute.accountId, value: accountId },
        { key: searchAttribute.requestId, value: requestId },
      ],
      staticSummary: 'Queries for the patients of a bulk create',
      staticDetails: workflowDetails(WORKFLOW_TYPES.querySweep),
    }),
  ).catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}
