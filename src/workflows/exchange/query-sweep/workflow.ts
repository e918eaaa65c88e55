import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  defineQuery,
  defineUpdate,
  isCancellation,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  QUERY_SWEEP_MESSAGES as MESSAGES,
  type QuerySweepInput,
  type QuerySweepProgress,
} from '../../../contract/bulk-create-workflow.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { continueWithCurrentBuild } from '../../shared/current-build.ts';
import { Gate } from '../../shared/gate.ts';
import { rejected } from '../../shared/rejected.ts';
import { UNSTATED } from '../../shared/unstated.ts';
import { workInPages } from '../../shared/work-in-pages.ts';
import { Sweep } from './sweep.ts';

/**
 * Starts a query for each patient of a bulk create.
 *
 * Durable because 100,000 queries within a source's limit take a day. Keyed by the bulk create's request id. PostgreSQL
 * records which patients' queries have been started, in the same transaction as the query; so every step may run twice,
 * and a new run continues where an interrupted one stopped. History: about 11 events per page; continues as new after 200
 * pages.
 */
export async function querySweep(
  input: QuerySweepInput,
  carried?: QuerySweepProgress,
): Promise<QuerySweepProgress> {
  const pace = { ...UNSTATED.sweep, ...input.pace };
  const gate = new Gate(carried?.state === 'paused');
  const sweep = new Sweep(input, pace, gate, carried);

  setHandler(defineQuery<QuerySweepProgress>(MESSAGES.status), () => sweep.progress);
  setHandler(defineUpdate<void, []>(MESSAGES.pause), () => sweep.pause(), {
    validator: () => {
      mustBeActive(sweep);
      if (gate.isPaused) throw rejected('The sweep is already paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.resume), () => sweep.resume(), {
    validator: () => {
      mustBeActive(sweep);
      // A workflow that was started again does not know yet whether the sweep is paused.
      if (sweep.hasBegun && !gate.isPaused) throw rejected('The sweep is not paused');
    },
  });
  setHandler(defineUpdate<void, []>(MESSAGES.cancel), () => sweep.cancel(), {
    validator: () => mustBeActive(sweep),
  });

  try {
    if (carried === undefined) await sweep.begin();
    await workInPages({
      gate,
      pagesPerRun: pace.pagesPerRun,
      nextPage: () => sweep.nextPage(),
      continueAsNew: () => continueWithCurrentBuild<typeof querySweep>(input, sweep.progress),
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

function mustBeActive(sweep: Sweep): void {
  if (sweep.hasEnded) throw rejected(`The sweep has already ended (${sweep.progress.state})`);
}
