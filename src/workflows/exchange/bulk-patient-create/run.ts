import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import {
  BULK_END_REASONS,
  BULK_FAILURE_TYPES,
  type BulkStepInput,
} from '../../../contract/bulk-create-steps.ts';
import type { BulkPatientCreateInput } from '../../../contract/bulk-create-workflow.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { fileActivities, rowActivities } from './activities.ts';
import type { BulkProgress } from './progress.ts';

/** One stretch of rows: short while somebody is likely to watch, then longer, so that the history stays small. */
const STRETCH_MS = 5_000;
const SHORT_STRETCHES = 12;
const LONG_STRETCH_MS = 60_000;

/** The steps of one bulk create and the commands that steer it. What is true stands in the request's row. */
export class BulkRun {
  readonly #step: BulkStepInput;
  readonly #uploadExpiresAtMs: number;
  readonly #scope = new CancellationScope();
  /** Commands write to the row one after the other. */
  #writing: Promise<void> = Promise.resolve();
  #told = false;

  constructor(
    input: BulkPatientCreateInput,
    readonly progress: BulkProgress,
  ) {
    this.#step = { accountId: input.accountId, requestId: input.requestId };
    this.#uploadExpiresAtMs = Date.parse(input.uploadExpiresAt);
  }

  /** The upload is there; only a hint. */
  tell(): void {
    this.#told = true;
  }

  pause(): Promise<void> {
    return this.#setPaused(true);
  }

  resume(): Promise<void> {
    return this.#setPaused(false);
  }

  /**
   * The row is ended first, so that rows in hand are the last ones; then whatever runs is stopped. Fails when the
   * request has completed meanwhile.
   */
  async cancel(): Promise<void> {
    const status = await this.#end(BULK_END_REASONS.cancelled);
    if (status !== 'failed')
      throw ApplicationFailure.nonRetryable(`The bulk create has ended (${status})`, 'Rejected');
    this.#scope.cancel();
  }

  /** From the wait for the file to the result. True when queries of its patients are to be started. */
  async toItsEnd(): Promise<boolean> {
    try {
      return await this.#scope.run(() => this.#steps());
    } catch (error) {
      if (!this.progress.hasEnded) await this.#end(reasonOf(error));
      return false;
    } finally {
      await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
    }
  }

  async #steps(): Promise<boolean> {
    if (!(await this.#uploaded())) return false;
    if (!(await this.#checked())) return false;
    if (!(await this.#rowsHandled())) return false;

    this.progress.enter('joining');
    const finish = await fileActivities('Write the result').finishBulkCreate(this.#step);
    if (finish.kind === 'ended') return this.#endedElsewhere();
    this.progress.enter('completed', { counts: finish.counts, secondsLeft: undefined });
    return finish.sweep;
  }

  async #uploaded(): Promise<boolean> {
    for (let waitMs = this.#uploadExpiresAtMs - Date.now(); ; ) {
      if (waitMs > 0) await condition(() => this.#told, waitMs, { summary: 'Wait for the file' });
      this.#told = false;
      const look = await rowActivities('Has the file come?').lookForUpload(this.#step);
      switch (look.state) {
        case 'uploaded':
          return true;
        case 'expired':
          this.progress.enter('expired');
          return false;
        case 'ended':
          return this.#endedElsewhere();
        case 'waiting':
          waitMs = look.waitMs;
      }
    }
  }

  async #checked(): Promise<boolean> {
    upsertSearchAttributes([{ key: searchAttribute.queryStatus, value: 'processing' }]);
    this.progress.enter('checking');
    const check = await fileActivities('Check the file’s format').checkUpload(this.#step);
    switch (check.kind) {
      case 'ok':
        this.progress.learn({ counts: { rows: check.rows, handled: 0, created: 0, updated: 0, failed: 0 } });
        return true;
      case 'refused':
        this.progress.enter('failed', { reason: check.reason });
        return false;
      case 'ended':
        return this.#endedElsewhere();
    }
  }

  async #rowsHandled(): Promise<boolean> {
    for (let stretch = 0; ; stretch++) {
      await condition(() => !this.progress.paused);
      this.progress.enter('processing');
      const stretchMs = stretch < SHORT_STRETCHES ? STRETCH_MS : LONG_STRETCH_MS;
      const { handled, rows } = this.progress.snapshot().counts;
      const rowsOf = fileActivities(`Handle rows from ${Math.min(handled + 1, rows)}`);
      const answer = await rowsOf.handleRows({ ...this.#step, stretchMs });
      const { counts, rowsPerSecond, secondsLeft } = answer;
      this.progress.learn({ counts, rowsPerSecond, secondsLeft });
      if (answer.done) return true;
      if (answer.stopped === 'ended') return this.#endedElsewhere();
      // The row may say "paused" a moment before, or after, the command that wrote it has come to its end here.
      await this.#writing;
    }
  }

  /** Somebody else has ended the request: a command, or whoever found it without a workflow. */
  async #endedElsewhere(): Promise<false> {
    await this.#writing;
    this.progress.enter('failed', { reason: BULK_END_REASONS.workflowGone, secondsLeft: undefined });
    return false;
  }

  async #setPaused(paused: boolean): Promise<void> {
    this.progress.setPaused(paused);
    await this.#write(() =>
      rowActivities(paused ? 'Pause' : 'Resume').setBulkPaused({ ...this.#step, paused }),
    );
  }

  async #end(reason: string): Promise<string> {
    return this.#write(async () => {
      const end = await rowActivities('End the request').endBulkCreate({ ...this.#step, reason });
      if (end.status === 'failed')
        this.progress.enter('failed', { reason: end.reason, secondsLeft: undefined });
      return end.status;
    });
  }

  /** Also when the workflow is being cancelled: what was commanded or has ended is to be in the row. */
  async #write<T>(work: () => Promise<T>): Promise<T> {
    const written = this.#writing.then(() => CancellationScope.nonCancellable(work));
    this.#writing = written.then(() => undefined);
    return written;
  }
}

function reasonOf(error: unknown): string {
  if (isCancellation(error)) return BULK_END_REASONS.byOperator;
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  // A bug: fail the workflow task, so that a corrected worker goes on from here.
  if (cause === undefined) throw error;
  const isForCaller =
    cause instanceof ApplicationFailure && cause.type === BULK_FAILURE_TYPES.unreadableUpload;
  return isForCaller ? cause.message : BULK_END_REASONS.ourFault;
}
