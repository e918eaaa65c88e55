import {
  CancellationScope,
  CancelledFailure,
  defineQuery,
  defineSignal,
  defineUpdate,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  type CarriedQuery,
  NETWORK_QUERY_MESSAGES as MESSAGES,
  type NetworkQueryInput,
  type NetworkQueryProgress,
  type SourceCallback,
  type SourceCommand,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { continueWithCurrentBuild } from '../../shared/current-build.ts';
import { rejected } from '../../shared/rejected.ts';
import { Continuation } from './continuation.ts';
import { hasEnded, QueryProgress } from './progress.ts';
import { SourceScopes } from './source-scopes.ts';

/**
 * Collects one patient's records from up to three sources in parallel.
 *
 * Durable because a source may answer days later, partially, or not at all, and no query may hang or be lost. Keyed by the
 * query's request id; run 0 is the query itself, later runs (redrives) take up single sources after it has ended. Every
 * step may run twice: it reads the current state from PostgreSQL and writes each end once. History: about 24 events when
 * the sources answer at once, plus 8 for each source that must be waited for; continues as new after `historyEventsMax`
 * events, between two steps of each source.
 */
export async function networkQuery(
  input: NetworkQueryInput,
  carried?: CarriedQuery,
): Promise<NetworkQueryProgress> {
  const progress = new QueryProgress(input, (now) => setCurrentDetails(now.toMarkdown()), carried);
  const continuation = new Continuation(input, carried);
  const sources = new SourceScopes(input, progress, continuation);

  setHandler(defineQuery<NetworkQueryProgress>(MESSAGES.status), () => progress.snapshot());
  setHandler(defineSignal<[SourceCallback]>(MESSAGES.sourceCallback), (callback) =>
    progress.noteCallback(callback),
  );
  setHandler(
    defineUpdate<void, [SourceCommand]>(MESSAGES.retrySource),
    ({ source }) => sources.startAgain(source),
    { validator: ({ source }) => mustHaveEnded(progress, source) },
  );
  setHandler(
    defineUpdate<void, [SourceCommand]>(MESSAGES.giveUpSource),
    ({ source }) => sources.end(source, 'Given up on request'),
    { validator: ({ source }) => mustBeRunning(progress, source) },
  );
  setHandler(defineUpdate<void, []>(MESSAGES.cancelQuery), () => sources.endAll('Cancelled on request'));

  sources.start();
  if (!(await sources.allEnded()))
    await continueWithCurrentBuild<typeof networkQuery>(...continuation.next(progress));

  const result = progress.snapshot();
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: result.status }]);
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('Cancelled by an operator');
  return result;
}

function mustHaveEnded(progress: QueryProgress, source: SourceType): void {
  const state = progress.of(source);
  if (state !== undefined && state.state !== 'failed')
    throw rejected(`The ${source} source is ${state.state}`);
}

function mustBeRunning(progress: QueryProgress, source: SourceType): void {
  const state = progress.of(source);
  if (state === undefined || hasEnded(state)) throw rejected(`The ${source} source is not running`);
}
