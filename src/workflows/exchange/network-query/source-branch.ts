import {
  ActivityCancellationType,
  ActivityFailure,
  CancellationScope,
  condition,
  patched,
  proxyActivities,
  sleep,
} from '@temporalio/workflow';
import type {
  RecordActivities,
  SourceActivities,
} from '../../../activities/exchange/network-query.ts';
import {
  CANCELLED,
  type NetworkQueryInput,
  type SourceProgress,
  type SourceStep,
  type SourceStepInput,
  type SourceWait,
  type WaitingStep,
} from '../../../contract/network-query-workflow.ts';
import type { SourceType } from '../../../contract/primitives.ts';
import { TASK_QUEUES } from '../../../contract/temporal.ts';
import {
  callbackPaceMs,
  OUR_RETRIES,
  PAUSED_MAX_MS,
  pollDelayMs,
  SOURCE_RETRIES,
  STEP_MS_MAX,
} from '../../../exchange/queries/network-query/rules/retries.ts';
import { rowActivities } from '../../shared/failures.ts';
import { inOwnLane } from '../../shared/own-run.ts';
import {
  type AttemptOutcome,
  completedBy,
  noAnswerWithin,
  ourOutage,
  outcomeOfError,
  pendingAnswer,
  ranOutOfTime,
} from './attempt-outcome.ts';
import type { Continuation } from './continuation.ts';
import type { QueryProgress } from './progress.ts';

/** What all branches of a query share. */
export interface RunningQuery {
  readonly input: NetworkQueryInput;
  readonly progress: QueryProgress;
  readonly continuation: Continuation;
}

/** The activities that record what happened. */
export const recordActivities = rowActivities<RecordActivities>;

/**
 * One source of a query, from its first attempt to its end: after a failure
 * that another attempt may overcome, it backs off and tries again.
 *
 * It has a cancellation scope of its own, so that it can be ended separately,
 * and before it is started, because a command may arrive together with the
 * workflow's start.
 */
export class SourceBranch {
  readonly #query: RunningQuery;
  readonly #source: SourceType;
  readonly #scope = new CancellationScope();
  #cancelReason: string = CANCELLED.byOperator;

  constructor(query: RunningQuery, source: SourceType) {
    this.#query = query;
    this.#source = source;
  }

  /**
   * Starts with this attempt, or where the branch was parked by the run before.
   * The end is recorded in the query's progress and in the database.
   */
  start(attempt: number): void {
    void this.#scope.run(() => this.#run(attempt));
  }

  /** Ends the source as failed, for this reason. */
  cancel(reason: string): void {
    this.#cancelReason = reason;
    this.#scope.cancel();
  }

  /** Throws only for bugs. */
  async #run(attemptToBegin: number): Promise<void> {
    const { input, progress, continuation } = this.#query;
    const { nextAttemptAfterMs, deadlineMs } = input.steering[this.#source];
    let carried = continuation.takeWait(this.#source);
    const firstAttempt = carried?.firstAttempt ?? attemptToBegin;

    for (let attempt = attemptToBegin; ; attempt += 1) {
      const wait = carried ?? newWait(firstAttempt, deadlineMs);
      if (carried === undefined) progress.begin(this.#source, attempt);
      carried = undefined;

      const current = new SourceAttempt(
        this.#query,
        this.#source,
        attempt,
        wait,
      );
      const outcome = await current
        .run()
        .catch((error: unknown) => outcomeOfError(error, this.#cancelReason));
      if (outcome.kind === 'completed') {
        const { resources, note } = outcome;
        this.#show({ state: 'completed', resources, reason: note });
        return;
      }

      const { reason, abandoned, furtherAttemptUseful } = outcome;
      const retryAfterMs = furtherAttemptUseful
        ? nextAttemptAfterMs[attempt - firstAttempt]
        : undefined;
      await current.recordFailure({ reason, abandoned, retryAfterMs });
      if (retryAfterMs === undefined) {
        this.#show({ state: 'failed', reason, nextTryAt: undefined });
        return;
      }

      this.#show({ state: 'backing-off', reason });
      try {
        await sleep(retryAfterMs, {
          summary: `${this.#source}: wait before attempt ${attempt + 1}`,
        });
      } catch {
        // Cancelled during the back-off: the attempt has already failed, so
        // nothing is abandoned.
        const cancelled = this.#cancelReason;
        await current.recordFailure({ reason: cancelled, abandoned: false });
        this.#show({ state: 'failed', reason: this.#cancelReason });
        return;
      }
    }
  }

  #show(change: Partial<SourceProgress>): void {
    this.#query.progress.change(this.#source, change);
  }
}

const newWait = (firstAttempt: number, deadlineMs: number): SourceWait => ({
  firstAttempt,
  deadlineAt: Date.now() + deadlineMs,
  polls: 0,
  earlyCallbacks: 0,
});

/** The deadline has passed. `error`: a step was still being repeated then. */
interface Silence {
  kind: 'silent';
  lastFailure?: string;
  error?: Error;
}

/**
 * A last look at a source that may have its answer ready is repeated for so
 * long while a part of the exchange is away. A source that does not answer ends
 * it at once.
 */
const LAST_LOOK_MS = 24 * 60 * 60_000;

/** One attempt at a source: ask, wait, collect. */
class SourceAttempt {
  readonly #query: RunningQuery;
  readonly #step: SourceStepInput;
  readonly #deadlineMs: number;
  readonly #wait: SourceWait;
  /** The steps are those on the gateways of networks, in their queue. */
  #asksGateways = false;

  constructor(
    query: RunningQuery,
    source: SourceType,
    attempt: number,
    wait: SourceWait,
  ) {
    const { accountId, requestId, run, steering } = query.input;
    this.#query = query;
    this.#step = { accountId, requestId, run, source, attempt };
    this.#deadlineMs = steering[source].deadlineMs;
    this.#wait = wait;
  }

  /**
   * Asks the source and waits for its answer until the deadline. Before it
   * gives up, it looks a last time. Throws what a step throws.
   */
  async run(): Promise<AttemptOutcome> {
    const ended = await this.#untilDeadline().catch(
      (error: unknown): Silence => {
        if (ranOutOfTime(error)) return { kind: 'silent', error };
        throw error;
      },
    );
    if (ended.kind !== 'silent') return ended;

    this.#showCollecting();
    const lastLook = this.#activities(LAST_LOOK_MS, ': a last look');
    const answer = await lastLook.collectSource(this.#step);
    if (answer.state === 'completed') return completedBy(answer);
    return noAnswerWithin(
      this.#deadlineMs,
      heldReason(answer) ?? ended.lastFailure,
      ourOutage(ended.error),
    );
  }

  async #untilDeadline(): Promise<AttemptOutcome | Silence> {
    const wait = this.#wait;
    let answer: SourceStep =
      wait.answer ??
      (await this.#activities(this.#deadlineMs).askSource(this.#step));
    while (answer.state !== 'completed') {
      this.#asksGateways = answer.asksGateways === true;
      const woken =
        answer.state === 'ready' ? 'due' : await this.#waitAfter(answer);
      if (woken === 'over')
        return { kind: 'silent', lastFailure: heldReason(answer) };
      answer = typeof woken === 'string' ? await this.#collect(woken) : woken;
    }
    return completedBy(answer);
  }

  /**
   * Waits until the source is to be looked at again. The workflow may continue
   * as new before that, and after it.
   */
  async #waitAfter(answer: WaitingStep): Promise<Woken> {
    const { source } = this.#step;
    const { continuation } = this.#query;
    const wait = this.#wait;

    this.#noteWaiting(answer);
    if (continuation.isDue) await continuation.park(source, wait);

    const untilAt = this.#nextLookAt(answer);
    await this.#letCallbacksPass(untilAt);
    const woken = this.#isLookedAtByRetries(answer)
      ? await this.#lookUntilCalled(untilAt)
      : await this.#callbackWithin(untilAt - Date.now());
    if (continuation.isDue) await continuation.park(source, wait);
    return woken === 'due' && Date.now() >= this.#deadlineAt ? 'over' : woken;
  }

  async #collect(because: 'called' | 'due'): Promise<SourceStep> {
    this.#showCollecting();
    const leftMs = Math.max(this.#deadlineAt - Date.now(), 60_000);
    const answer = await this.#activities(leftMs).collectSource(this.#step);
    if (because === 'called' && !wasUseful(answer))
      this.#wait.earlyCallbacks += 1;
    // Each of many gateways that answer later has its own callback.
    else if (this.#asksGateways && wasUseful(answer))
      this.#wait.earlyCallbacks = 0;
    return answer;
  }

  /** Milliseconds since the epoch. A paused source has its time added. */
  get #deadlineAt(): number {
    return this.#wait.deadlineAt + (this.#wait.pausedMs ?? 0);
  }

  get #waitedMs(): number {
    return Date.now() - (this.#wait.since ?? Date.now());
  }

  /** When to look at the source again if it does not call before. */
  #nextLookAt({ held, retryAfterMs }: WaitingStep): number {
    const retries = SOURCE_RETRIES[this.#step.source];
    if (held === undefined) this.#wait.polls += 1;
    const waitMs =
      held === undefined && !this.#asksGateways
        ? pollDelayMs(retries, this.#waitedMs, retryAfterMs)
        : (retryAfterMs ?? retries.pollFirstMs);
    return Math.min(Date.now() + waitMs, this.#deadlineAt);
  }

  /** Callbacks that come soon after an early one are not obeyed. */
  async #letCallbacksPass(untilAt: number): Promise<void> {
    const paceMs = Math.min(
      callbackPaceMs(this.#wait.earlyCallbacks),
      untilAt - Date.now(),
    );
    if (paceMs > 0)
      await sleep(paceMs, {
        summary: `${this.#step.source}: its last callback came too early`,
      });
  }

  /**
   * The first wait is a timer, because most sources have their answer after it;
   * a source that takes longer is looked at by the retries of one activity.
   * What is held is shown, and its wait can be ended: that is a timer, too.
   */
  #isLookedAtByRetries({ held, isNearDeadline }: WaitingStep): boolean {
    return (
      this.#wait.polls > 1 &&
      held === undefined &&
      !this.#asksGateways &&
      isNearDeadline !== true &&
      patched('polls-are-retries')
    );
  }

  /**
   * Waits for the source's callback, or until the workflow has to continue as
   * new, for at most `waitMs`.
   */
  async #callbackWithin(waitMs: number): Promise<Woken> {
    const isCalled = await condition(this.#isAwake, Math.max(waitMs, 1), {
      summary: `${this.#step.source}: wait for its callback, then poll`,
    });
    this.#takeCallback();
    return isCalled ? 'called' : 'due';
  }

  /**
   * Lets an activity look at the source, for the first time at `firstLookAt`,
   * until the activity has something to return, or the source calls back, or
   * the workflow has to continue as new.
   */
  async #lookUntilCalled(firstLookAt: number): Promise<Woken> {
    const now = Date.now();
    const activities = this.#activities(
      Math.max(this.#deadlineAt - now, 60_000),
      ': look again until it is ready',
      // A look that is cut off has changed nothing.
      ActivityCancellationType.TRY_CANCEL,
    );
    const looking = new CancellationScope();
    const looked = looking.run(() =>
      activities.awaitSource({
        ...this.#step,
        waitingSince: now - this.#waitedMs,
        firstLookMs: Math.max(firstLookAt - now, 0),
      }),
    );
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    looked.then(over, over);

    await condition(() => isOver || this.#isAwake());
    if (!isOver) {
      looking.cancel();
      this.#takeCallback();
      return 'called';
    }
    return looked.catch((error: unknown): SourceStep => {
      const seen = pendingAnswer(error);
      if (seen === undefined) throw error;
      return { ...seen, isNearDeadline: true };
    });
  }

  readonly #isAwake = (): boolean => {
    const { progress, continuation } = this.#query;
    const { source, attempt } = this.#step;
    return progress.hasCallback(source, attempt) || continuation.isDue;
  };

  /** A run that continues as new hands the callback over instead. */
  #takeCallback(): void {
    const { progress, continuation } = this.#query;
    const { source, attempt } = this.#step;
    if (!continuation.isDue) progress.takeCallback(source, attempt);
  }

  /**
   * Records that the attempt failed, even when the query is being cancelled. An
   * operator can let the activity fail in Temporal: it is then done again, as
   * nothing goes on without it.
   */
  async recordFailure(failure: {
    reason: string;
    abandoned: boolean;
    retryAfterMs?: number;
  }): Promise<void> {
    const { source, attempt } = this.#step;
    const records = recordActivities(`${source}, attempt ${attempt} failed`);
    await CancellationScope.nonCancellable(async () => {
      let isRecorded = false;
      while (!isRecorded)
        isRecorded = await records
          .recordFailedAttempt({ ...this.#step, ...failure })
          .then(() => true, afterPause);
    });
  }

  #noteWaiting(answer: WaitingStep): void {
    const { held, pausedMs = 0 } = answer;
    this.#query.progress.change(this.#step.source, {
      state: 'waiting',
      reason: held?.reason,
      nextTryAt: held?.nextTryAt,
    });

    const wait = this.#wait;
    wait.since ??= Date.now();
    wait.answer = answer;
    if (pausedMs > (wait.pausedMs ?? 0) && patched('pauses-do-not-count'))
      wait.pausedMs = Math.min(pausedMs, PAUSED_MAX_MS);
  }

  #showCollecting(): void {
    this.#query.progress.change(this.#step.source, {
      state: 'collecting',
      reason: undefined,
      nextTryAt: undefined,
    });
  }

  /**
   * The activities that talk to the source. They run on the source's own task
   * queue, with its own retries.
   *
   * @param remainingMs until the attempt's deadline; the activity fails when it
   *   passes
   * @param what what is special about this step, for Temporal's page
   */
  #activities(
    remainingMs: number,
    what = '',
    cancellationType?: ActivityCancellationType,
  ) {
    const { source, attempt } = this.#step;
    const queue = this.#asksGateways
      ? TASK_QUEUES.networks
      : TASK_QUEUES.source(source);
    return proxyActivities<SourceActivities>({
      taskQueue: inOwnLane(queue),
      startToCloseTimeout: STEP_MS_MAX,
      scheduleToCloseTimeout: remainingMs,
      heartbeatTimeout: '30 seconds',
      retry: OUR_RETRIES,
      cancellationType,
      summary: `${source}, attempt ${attempt}${what}`,
    });
  }
}

/**
 * What ended a wait: a callback, its time, the deadline, or what the activity
 * that looks at the source has returned.
 */
type Woken = 'called' | 'due' | 'over' | SourceStep;

const heldReason = (answer: SourceStep): string | undefined =>
  answer.state === 'waiting' ? answer.held?.reason : undefined;

/** Before an activity that has failed is done again. Throws a bug. */
async function afterPause(error: unknown): Promise<false> {
  if (!(error instanceof ActivityFailure)) throw error;
  await sleep('1 minute', { summary: 'Record the end again' });
  return false;
}

/** Whether a callback was of use, although the source has yet more to send. */
const wasUseful = (answer: SourceStep): boolean =>
  answer.state !== 'waiting' || answer.hasEndedPart === true;
