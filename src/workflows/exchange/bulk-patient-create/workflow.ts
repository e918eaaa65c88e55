import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ApplicationFailure,
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
  BULK_CREATE_MESSAGES as MESSAGES,
  QUERY_SWEEP_STORY,
  type QuerySweepInput,
} from '../../../contract/bulk-create-workflow.ts';
import { querySweepWorkflowId, WORKFLOW_TYPES } from '../../../contract/temporal.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { BulkProgress } from './progress.ts';
import { BulkRun } from './run.ts';

/**
 * Makes patients of the rows of one uploaded CSV: waits for the file, checks it, handles its rows in stretches, joins
 * the result, and leaves the queries of its patients to a `querySweep` of their own.
 *
 * Durable because the file may come minutes later, handling it takes a while, may be paused for days, and no row may be
 * lost or written twice. Keyed by the request's id. The request's row in PostgreSQL is the truth; every step goes on
 * from there and may run twice. About 40 history events and 6 for each stretch (5 s of rows, later 60 s), so under 200
 * for 100,000 rows.
 */
export async function bulkPatientCreate(input: BulkPatientCreateInput): Promise<BulkCreateProgress> {
  const progress = new BulkProgress(input.requestId, (now) => setCurrentDetails(now.toMarkdown()));
  const run = new BulkRun(input, progress);

  setHandler(defineQuery<BulkCreateProgress>(MESSAGES.status), () => progress.snapshot());
  setHandler(defineSignal(MESSAGES.uploaded), () => run.tell());
  setHandler(defineUpdate<void, []>(MESSAGES.pause), () => run.pause(), {
    validator: () => {
      if (!progress.canPause) throw rejected('All rows are handled');
      if (progress.paused) throw rejected('The bulk create is paused already');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.resume), () => run.resume(), {
    validator: () => {
      if (!progress.paused) throw rejected('The bulk create is not paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.cancel), () => run.cancel(), {
    validator: () => {
      if (progress.hasEnded) throw rejected('The bulk create has ended');
    },
  });

  const sweep = await run.toItsEnd();
  if (sweep) await startSweep(input);

  const result = progress.snapshot();
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: result.state }]);
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('Cancelled by an operator');
  return result;
}

/**
 * Goes on for long after this workflow's end; started even when that is being cancelled, for the patients are there.
 * `reconcile` may have been quicker.
 */
async function startSweep({ accountId, requestId }: BulkPatientCreateInput): Promise<void> {
  const input: QuerySweepInput = { accountId, requestId };
  await CancellationScope.nonCancellable(() =>
    startChild(WORKFLOW_TYPES.querySweep, {
      workflowId: querySweepWorkflowId(requestId),
      args: [input],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      typedSearchAttributes: [
        { key: searchAttribute.accountId, value: accountId },
        { key: searchAttribute.requestId, value: requestId },
      ],
      staticSummary: 'Queries of a bulk create’s patients',
      staticDetails: QUERY_SWEEP_STORY,
    }),
  ).catch((error: unknown) => {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  });
}

const rejected = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'Rejected');
