import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  continueAsNew,
  defineQuery,
  defineUpdate,
  isCancellation,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  DEFAULT_SWEEP_PACE,
  QUERY_SWEEP_MESSAGES as MESSAGES,
  type QuerySweepInput,
  type QuerySweepProgress,
} from '../../../contract/bulk-create-workflow.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { Gate } from '../../shared/gate.ts';
import { workInPages } from '../../shared/work-in-pages.ts';
import { Sweep } from './sweep.ts';

/**
 * Starts the queries of all patients of a bulk create.
 *
 * Durable because 100,000 queries at a source's pace take a day. Keyed by the bulk create's request id. PostgreSQL
 * holds which patient's query has been started, written in one transaction with the query, so every step may run
 * twice and a new run goes on where an old one was cut off. About 11 history events a page; begins anew after 200.
 */
export async function querySweep(
  input: QuerySweepInput,
  carried?: QuerySweepProgress,
): Promise<QuerySweepProgress> {
  const pace = { ...DEFAULT_SWEEP_PACE, ...input.pace };
  const gate = new Gate(carried?.state === 'paused');
  const sweep = new Sweep(input, pace, gate, carried);

  setHandler(defineQuery<QuerySweepProgress>(MESSAGES.status), () => sweep.progress);
  setHandler(defineUpdate<void, []>(MESSAGES.pause), () => sweep.pause(), {
    validator: () => {
      mustGoOn(sweep);
      if (gate.isPaused) throw rejected('The sweep is paused already');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.resume), () => sweep.resume(), {
    validator: () => {
      mustGoOn(sweep);
      if (!gate.isPaused) throw rejected('The sweep is not paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.cancel), () => sweep.cancel(), {
    validator: () => mustGoOn(sweep),
  });

  try {
    if (carried === undefined) await sweep.begin();
    await workInPages({
      gate,
      pagesPerRun: pace.pagesPerRun,
      nextPage: () => sweep.nextPage(),
      beginAnew: () => continueAsNew<typeof querySweep>(input, sweep.progress),
    });
    await condition(allHandlersFinished);
  } catch (error) {
    if (!isCancellation(error)) throw error;
    await CancellationScope.nonCancellable(() => sweep.cancel());
    throw new CancelledFailure('Cancelled by an operator');
  }
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: sweep.progress.state }]);
  return sweep.progress;
}

function mustGoOn(sweep: Sweep): void {
  if (sweep.hasEnded) throw rejected(`The sweep has ended (${sweep.progress.state})`);
}

const rejected = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'Rejected');
