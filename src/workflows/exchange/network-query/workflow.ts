import {
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  CANCELLED,
  type CarriedQuery,
  NETWORK_QUERY_MESSAGES as MESSAGES,
  type NetworkQueryInput,
  type NetworkQueryProgress,
  type SourceCallback,
  type SourceCommand,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { rejected } from '../../shared/failures.ts';
import { continueWithCurrentBuild } from '../../shared/own-run.ts';
import { Continuation } from './continuation.ts';
import { hasEnded, QueryProgress } from './progress.ts';
import {
  type RunningQuery,
  recordActivities,
  SourceBranch,
} from './source-branch.ts';

/**
 * Collects one patient's records from up to three sources in parallel.
 *
 * Durable because a source may answer days later, partially, or not at all, and
 * no query may hang or be lost. Keyed by the query's request id; run 0 is the
 * query itself, later runs (redrives) take up single sources after it has
 * ended. Every step may run twice: it reads the current state from PostgreSQL
 * and writes each end once. History: about 24 events when the sources answer at
 * once, plus 8 for each source that must be waited for; continues as new after
 * `historyEventsMax` events, between two steps of each source.
 */
export async function networkQuery(
  input: NetworkQueryInput,
  carried?: CarriedQuery,
): Promise<NetworkQueryProgress> {
  const progress = new QueryProgress(
    input,
    (now) => setCurrentDetails(now.toMarkdown()),
    carried,
  );
  const continuation = new Continuation(input, carried);
  const sources = new SourceBranches({ input, progress, continuation });

  setHandler(defineQuery<NetworkQueryProgress>(MESSAGES.status), () =>
    progress.snapshot(),
  );
  setHandler(
    defineSignal<[SourceCallback]>(MESSAGES.sourceCallback),
    (callback) => progress.noteCallback(callback),
  );
  setHandler(
    defineUpdate<void, [SourceCommand]>(MESSAGES.retrySource),
    ({ source }) => sources.startAgain(source),
    { validator: ({ source }) => mustHaveEnded(progress, source) },
  );
  setHandler(
    defineUpdate<void, [SourceCommand]>(MESSAGES.giveUpSource),
    ({ source }) => sources.end(source, CANCELLED.source),
    { validator: ({ source }) => mustBeRunning(progress, source) },
  );
  setHandler(defineUpdate<void, []>(MESSAGES.cancelQuery), () =>
    sources.endAll(CANCELLED.query),
  );

  sources.start();
  if (!(await sources.allEnded()))
    await continueWithCurrentBuild<typeof networkQuery>(
      ...continuation.next(progress),
    );

  const result = progress.snapshot();
  showStatus(input, statusOfEnd(progress, result));
  if (CancellationScope.current().consideredCancelled)
    throw new CancelledFailure(CANCELLED.byOperator);
  return result;
}

function statusOfEnd(
  { isCancelled }: QueryProgress,
  { status }: NetworkQueryProgress,
): NetworkQueryProgress['status'] | 'cancelled' {
  if (isCancelled && patched('cancelled-is-a-status-of-its-own'))
    return 'cancelled';
  return status;
}

/**
 * Each upsert is an action that Temporal Cloud bills: a query that completed is
 * found by Temporal's own status.
 */
function showStatus(
  { showsTroubleOnly }: NetworkQueryInput,
  value: string,
): void {
  if (showsTroubleOnly !== true || value !== 'completed')
    upsertSearchAttributes([{ key: searchAttribute.queryStatus, value }]);
}

function mustHaveEnded(progress: QueryProgress, source: SourceType): void {
  const state = progress.of(source);
  if (state !== undefined && state.state !== 'failed')
    throw rejected(`The ${source} source is ${state.state}`);
}

function mustBeRunning(progress: QueryProgress, source: SourceType): void {
  const state = progress.of(source);
  if (state === undefined || hasEnded(state))
    throw rejected(`The ${source} source is not running`);
}

/** The branches of a query, one a source. */
class SourceBranches {
  readonly #branches = new Map<SourceType, SourceBranch>();
  readonly #query: RunningQuery;

  constructor(query: RunningQuery) {
    this.#query = query;

    for (const { source } of query.input.sources) this.#newBranch(source);
  }

  start(): void {
    for (const { source, attempt } of this.#query.input.sources)
      if (!this.#hasEnded(source)) this.#branches.get(source)?.start(attempt);
  }

  /**
   * Starts a further attempt at a source. The attempt is recorded before the
   * update returns, so that the caller's next read shows it. It is recorded
   * even when the source is cancelled in the meantime, so that its end can be
   * recorded too.
   */
  async startAgain(source: SourceType): Promise<void> {
    const { input, progress } = this.#query;
    const { accountId, requestId, run } = input;
    const branch = this.#newBranch(source);
    const attempt = (progress.of(source)?.attempt ?? 0) + 1;
    progress.begin(source, attempt);

    const records = recordActivities(`${source}: try again`);
    const opened = await CancellationScope.nonCancellable(() =>
      records.openNextAttempt({ accountId, requestId, run, source, attempt }),
    );
    branch.start(opened.attempt);
  }

  async end(source: SourceType, reason: string): Promise<void> {
    this.#branches.get(source)?.cancel(reason);
    const { progress } = this.#query;
    await condition(
      () => progress.of(source) === undefined || this.#hasEnded(source),
    );
  }

  async endAll(reason: string): Promise<void> {
    for (const branch of this.#branches.values()) branch.cancel(reason);
    await condition(() => this.#query.progress.ended);
  }

  /**
   * Waits for all sources, and for the handlers, because one of them may have
   * started a source again. Returns false if sources that have not ended are
   * parked, so that the workflow has to continue as new.
   */
  async allEnded(): Promise<boolean> {
    const { progress } = this.#query;
    await CancellationScope.nonCancellable(async () => {
      await condition(
        () =>
          (progress.ended || this.#areOthersParked()) && allHandlersFinished(),
      );
    });
    return progress.ended;
  }

  #areOthersParked(): boolean {
    const { continuation } = this.#query;
    if (!continuation.isDue) return false;
    return [...this.#branches.keys()].every(
      (source) => this.#hasEnded(source) || continuation.isParked(source),
    );
  }

  #newBranch(source: SourceType): SourceBranch {
    const branch = new SourceBranch(this.#query, source);
    this.#branches.set(source, branch);
    return branch;
  }

  #hasEnded(source: SourceType): boolean {
    const state = this.#query.progress.of(source);
    return state !== undefined && hasEnded(state);
  }
}
