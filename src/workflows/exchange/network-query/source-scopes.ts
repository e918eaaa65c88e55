import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import type { NetworkQueryInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { recordActivities } from './activities.ts';
import { hasEnded, type QueryProgress } from './progress.ts';
import { runSource } from './source-branch.ts';

/** The running branches of a query, each in a scope of its own so that one can be ended alone. */
export class SourceScopes {
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
