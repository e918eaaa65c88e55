import {
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  CancelledFailure,
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  NETWORK_QUERY_MESSAGES as MESSAGES,
  type NetworkQueryInput,
  type NetworkQueryProgress,
  type SourceCallback,
  type SourceCommand,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { recordActivities } from './activities.ts';
import { hasEnded, QueryProgress } from './progress.ts';
import { runSource } from './source-branch.ts';

/**
 * Collects one patient's records from up to three sources at once.
 *
 * Durable because a source may answer after days, in part, or not at all, and no query may hang or be lost.
 * Keyed by the query's request id; run 0 is the query, later runs take up single sources after its end. Every
 * step may run twice: steps read where they stand from PostgreSQL and write each end once. About 24 history
 * events when the sources answer at once, 8 more for each that is waited for.
 */
export async function networkQuery(input: NetworkQueryInput): Promise<NetworkQueryProgress> {
  const progress = new QueryProgress(input, (now) => setCurrentDetails(now.toMarkdown()));
  const sources = new SourceScopes(input, progress);

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
  await sources.allEnded();

  const result = progress.snapshot();
  upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: result.status }]);
  if (CancellationScope.current().consideredCancelled) throw new CancelledFailure('Cancelled by an operator');
  return result;
}

/** The running branches of a query, each in a scope of its own so that one can be ended alone. */
class SourceScopes {
  readonly #scopes = new Map<SourceType, CancellationScope>();
  readonly #why = new Map<SourceType, string>();

  /** Each source has its scope before the handlers are set, for a command may come with the workflow's start. */
  constructor(
    readonly input: NetworkQueryInput,
    readonly progress: QueryProgress,
  ) {
    for (const { source } of input.sources) this.#newScope(source);
  }

  start(): void {
    for (const { source, attempt } of this.input.sources) this.#run(source, attempt);
  }

  /**
   * The attempt is written before the caller has its answer, so that the next look at the query shows it; also when
   * the source is given up meanwhile, for then it has to end.
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

  async end(source: SourceType, why: string): Promise<void> {
    this.#cancel(source, why);
    await condition(() => this.progress.of(source) === undefined || this.#hasEnded(source));
  }

  async endAll(why: string): Promise<void> {
    for (const source of this.#scopes.keys()) this.#cancel(source, why);
    await condition(() => this.progress.ended);
  }

  /** Also waits for the handlers, one of which may have started a source again. */
  async allEnded(): Promise<void> {
    await CancellationScope.nonCancellable(async () => {
      await condition(() => this.progress.ended && allHandlersFinished());
    });
  }

  #newScope(source: SourceType): void {
    this.#scopes.set(source, new CancellationScope());
    this.#why.delete(source);
  }

  #run(source: SourceType, attempt: number): void {
    const why = () => this.#why.get(source) ?? 'Cancelled by an operator';
    void this.#scopes.get(source)?.run(() => runSource(this.input, this.progress, source, attempt, why));
  }

  #cancel(source: SourceType, why: string): void {
    this.#why.set(source, why);
    this.#scopes.get(source)?.cancel();
  }

  #hasEnded(source: SourceType): boolean {
    const state = this.progress.of(source);
    return state !== undefined && hasEnded(state);
  }
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

const rejected = (message: string): ApplicationFailure =>
  ApplicationFailure.nonRetryable(message, 'Rejected');
