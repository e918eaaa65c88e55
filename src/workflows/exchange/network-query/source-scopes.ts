import { allHandlersFinished, CancellationScope, condition } from '@temporalio/workflow';
import type { NetworkQueryInput } from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { recordActivities } from './activities.ts';
import type { Continuation } from './continuation.ts';
import { hasEnded, type QueryProgress } from './progress.ts';
import { runSource } from './source-branch.ts';

/** The running branches of a query, each in its own cancellation scope, so that one can be ended separately. */
export class SourceScopes {
  readonly #scopes = new Map<SourceType, CancellationScope>();
  readonly #cancelReasons = new Map<SourceType, string>();

  /** Creates all scopes before the handlers are set, because a command may arrive together with the workflow's start. */
  constructor(
    readonly input: NetworkQueryInput,
    readonly progress: QueryProgress,
    readonly continuation: Continuation,
  ) {
    for (const { source } of input.sources) this.#newScope(source);
  }

  start(): void {
    for (const { source, attempt } of this.input.sources)
      if (!this.#hasEnded(source)) this.#run(source, attempt);
  }

  /**
   * Starts a further attempt at a source. The attempt is recorded before the update returns, so that the caller's next
   * read shows it. It is recorded even when the source is cancelled in the meantime, so that its end can be recorded too.
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
    await condition(() => this.progress.of(source) === undefined || this.#hasEnded(source));
  }

  async endAll(reason: string): Promise<void> {
    for (const source of this.#scopes.keys()) this.#cancel(source, reason);
    await condition(() => this.progress.ended);
  }

  /**
   * Waits for all sources, and for the handlers, because one of them may have started a source again. Returns false if sources
   * that have not ended are parked, so that the workflow has to continue as new.
   */
  async allEnded(): Promise<boolean> {
    await CancellationScope.nonCancellable(async () => {
      await condition(() => (this.progress.ended || this.#areOthersParked()) && allHandlersFinished());
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
    const reason = () => this.#cancelReasons.get(source) ?? 'Cancelled by an operator';
    void this.#scopes
      .get(source)
      ?.run(() => runSource(this.input, this.progress, source, attempt, reason, this.continuation));
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
