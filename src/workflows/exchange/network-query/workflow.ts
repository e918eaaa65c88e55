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
import { Continuation, hasEnded, QueryProgress } from './progress.ts';
import { recordActivities, runSource } from './source-branch.ts';

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
  const sources = new SourceScopes(input, progress, continuation);

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
  const isCancelled =
    progress.isCancelled && patched('cancelled-is-a-status-of-its-own');
  const shown = isCancelled ? 'cancelled' : result.status;
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: shown }]);
  if (CancellationScope.current().consideredCancelled)
    throw new CancelledFailure(CANCELLED.byOperator);
  return result;
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

/**
 * The running branches of a query, each in its own cancellation scope, so that
 * one can be ended separately.
 */
class SourceScopes {
  readonly #scopes = new Map<SourceType, CancellationScope>();
  readonly #cancelReasons = new Map<SourceType, string>();
  readonly input: NetworkQueryInput;
  readonly progress: QueryProgress;
  readonly continuation: Continuation;

  /**
   * Creates all scopes before the handlers are set, because a command may
   * arrive together with the workflow's start.
   */
  constructor(
    input: NetworkQueryInput,
    progress: QueryProgress,
    continuation: Continuation,
  ) {
    this.input = input;
    this.progress = progress;
    this.continuation = continuation;

    for (const { source } of input.sources) this.#newScope(source);
  }

  start(): void {
    for (const { source, attempt } of this.input.sources)
      if (!this.#hasEnded(source)) this.#run(source, attempt);
  }

  /**
   * Starts a further attempt at a source. The attempt is recorded before the
   * update returns, so that the caller's next read shows it. It is recorded
   * even when the source is cancelled in the meantime, so that its end can be
   * recorded too.
   */
  async startAgain(source: SourceType): Promise<void> {
    this.#newScope(source);
    const attempt = (this.progress.of(source)?.attempt ?? 0) + 1;
    this.progress.begin(source, attempt);
    const { accountId, requestId, run } = this.input;
    const opened = await CancellationScope.nonCancellable(() =>
      recordActivities(`${source}: try again`).openNextAttempt({
        accountId,
        requestId,
        run,
        source,
        attempt,
      }),
    );
    this.#run(source, opened.attempt);
  }

  async end(source: SourceType, reason: string): Promise<void> {
    this.#cancel(source, reason);
    await condition(
      () => this.progress.of(source) === undefined || this.#hasEnded(source),
    );
  }

  async endAll(reason: string): Promise<void> {
    for (const source of this.#scopes.keys()) this.#cancel(source, reason);
    await condition(() => this.progress.ended);
  }

  /**
   * Waits for all sources, and for the handlers, because one of them may have
   * started a source again. Returns false if sources that have not ended are
   * parked, so that the workflow has to continue as new.
   */
  async allEnded(): Promise<boolean> {
    await CancellationScope.nonCancellable(async () => {
      await condition(
        () =>
          (this.progress.ended || this.#areOthersParked()) &&
          allHandlersFinished(),
      );
    });
    return this.progress.ended;
  }

  #areOthersParked(): boolean {
    if (!this.continuation.isDue) return false;
    return [...this.#scopes.keys()].every(
      (source) => this.#hasEnded(source) || this.continuation.isParked(source),
    );
  }

  #newScope(source: SourceType): void {
    this.#scopes.set(source, new CancellationScope());
    this.#cancelReasons.delete(source);
  }

  #run(source: SourceType, attempt: number): void {
    const reason = () =>
      this.#cancelReasons.get(source) ?? CANCELLED.byOperator;
    void this.#scopes
      .get(source)
      ?.run(() =>
        runSource(
          this.input,
          this.progress,
          source,
          attempt,
          reason,
          this.continuation,
        ),
      );
  }

  #cancel(source: SourceType, reason: string): void {
    this.#cancelReasons.set(source, reason);
    this.#scopes.get(source)?.cancel();
  }

  #hasEnded(source: SourceType): boolean {
    const state = this.progress.of(source);
    return state !== undefined && hasEnded(state);
  }
}
