import {
  ActivityFailure,
  ApplicationFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  proxyActivities,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { BulkActivities } from '../../../activities/exchange/bulk-create.ts';
import type { BulkCounts } from '../../../contract/bulk-create.ts';
import {
  BULK_END_REASONS,
  BULK_FAILURE_TYPES,
  type BulkCreateProgress,
  type BulkPatientCreateInput,
  type BulkStepInput,
} from '../../../contract/bulk-create-workflow.ts';
import { searchAttribute } from '../../../temporal/search-attributes.ts';
import { rejected, rowActivities } from '../../shared/failures.ts';

/**
 * The activities that read the file and process its rows. Failures on our side
 * (the database is down, a worker was killed) are retried for two days. A
 * killed activity resumes from its last commit within seconds.
 */
const fileActivities = (summary: string) =>
  proxyActivities<
    Pick<BulkActivities, 'checkUpload' | 'handleRows' | 'finishBulkCreate'>
  >({
    startToCloseTimeout: '30 minutes',
    scheduleToCloseTimeout: '2 days',
    heartbeatTimeout: '10 seconds',
    retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
    summary,
  });

type RowActivities = Pick<
  BulkActivities,
  'lookForUpload' | 'setBulkPaused' | 'endBulkCreate'
>;

/**
 * How long one activity processes rows. Short in the first minute, so that
 * progress is visible soon; longer after that, so that the history stays small.
 */
const STRETCH_MS = 5_000;
const SHORT_STRETCHES = 12;
const LONG_STRETCH_MS = 60_000;

/**
 * The steps of one bulk create, and the commands that control it. The request's
 * row is the source of truth.
 */
export class BulkRun {
  readonly #step: BulkStepInput;
  readonly #uploadExpiresAtMs: number;
  readonly #scope = new CancellationScope();
  /**
   * The last write to the row; commands wait for it, so that they write one
   * after the other.
   */
  #writing: Promise<void> = Promise.resolve();
  /** Number of writes that have not ended. */
  #writesOpen = 0;
  #isUploadSignaled = false;
  /** Number of pause and resume commands so far. */
  #commands = 0;
  readonly progress: BulkProgress;

  constructor(input: BulkPatientCreateInput, progress: BulkProgress) {
    this.progress = progress;

    this.#step = { accountId: input.accountId, requestId: input.requestId };
    this.#uploadExpiresAtMs = Date.parse(input.uploadExpiresAt);
  }

  /**
   * Ends the wait for the file. Only a hint: the row decides whether the file
   * has been uploaded.
   */
  uploadSignaled(): void {
    this.#isUploadSignaled = true;
  }

  pause(): Promise<void> {
    return this.#setPaused(true);
  }

  resume(): Promise<void> {
    return this.#setPaused(false);
  }

  /**
   * Ends the row first, so that no further chunk is committed, and then stops
   * the running activity. Throws `Rejected` when the request has completed in
   * the meantime.
   */
  async cancel(): Promise<void> {
    const status = await this.#end(BULK_END_REASONS.cancelled);
    if (status !== 'failed')
      throw rejected(`The bulk create has already ended (${status})`);
    this.#scope.cancel();
  }

  /**
   * Runs all steps, from the wait for the file to the result. Returns whether
   * to start queries for its patients.
   */
  async untilEnded(): Promise<boolean> {
    try {
      return await this.#scope.run(() => this.#steps());
    } catch (error) {
      if (!this.progress.hasEnded) await this.#end(reasonOf(error));
      return false;
    } finally {
      await CancellationScope.nonCancellable(() =>
        condition(allHandlersFinished),
      );
    }
  }

  async #steps(): Promise<boolean> {
    if (!(await this.#uploaded())) return false;
    if (!(await this.#checked())) return false;
    if (!(await this.#rowsProcessed())) return false;

    this.progress.enter('joining');
    const finish = await fileActivities('Write the result').finishBulkCreate(
      this.#step,
    );
    if (finish.kind === 'ended') return this.#endedElsewhere();
    this.progress.enter('completed', {
      counts: finish.counts,
      secondsLeft: undefined,
    });
    return finish.sweep;
  }

  async #uploaded(): Promise<boolean> {
    for (let waitMs = this.#uploadExpiresAtMs - Date.now(); ; ) {
      if (waitMs > 0)
        await condition(() => this.#isUploadSignaled, waitMs, {
          summary: 'Wait for the file',
        });
      this.#isUploadSignaled = false;
      const look = await rowActivities<RowActivities>(
        'Check whether the file was uploaded',
      ).lookForUpload(this.#step);
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
    upsertSearchAttributes([
      { key: searchAttribute.queryStatus, value: 'processing' },
    ]);
    this.progress.enter('checking');
    const check = await fileActivities('Check the file’s format').checkUpload(
      this.#step,
    );
    switch (check.kind) {
      case 'ok':
        this.progress.update({
          counts: {
            rows: check.rows,
            handled: 0,
            created: 0,
            updated: 0,
            failed: 0,
          },
        });
        return true;
      case 'refused':
        this.progress.enter('failed', { reason: check.reason });
        return false;
      case 'ended':
        return this.#endedElsewhere();
    }
  }

  async #rowsProcessed(): Promise<boolean> {
    for (let stretch = 0; ; stretch++) {
      await condition(() => !this.progress.paused);
      // A step that read the row before `resume` is written there would find it
      // paused, and the import would stay paused.
      if (this.#writesOpen > 0)
        await condition(() => this.#writesOpen === 0 && !this.progress.paused);
      this.progress.enter('processing');
      const stretchMs =
        stretch < SHORT_STRETCHES ? STRETCH_MS : LONG_STRETCH_MS;
      const { handled, rows } = this.progress.snapshot().counts;
      const { handleRows } = fileActivities(
        `Process rows from ${Math.min(handled + 1, rows)}`,
      );
      const commandsBefore = this.#commands;
      const outcome = await handleRows({ ...this.#step, stretchMs });
      const { counts, rowsPerSecond, secondsLeft } = outcome;
      this.progress.update({ counts, rowsPerSecond, secondsLeft });
      if (outcome.done) return true;
      if (outcome.stopped === 'ended') return this.#endedElsewhere();
      // The activity may read "paused" from the row before the command that
      // wrote it has returned here.
      await this.#writing;
      // Without a command, the row was paused before this execution began: one
      // of the two was restored from a backup.
      if (outcome.stopped === 'paused' && this.#commands === commandsBefore)
        this.progress.setPaused(true);
    }
  }

  /**
   * The request's row was ended by a command, or by `reconcile` because its
   * workflow was missing.
   */
  async #endedElsewhere(): Promise<false> {
    await this.#writing;
    this.progress.enter('failed', {
      reason: BULK_END_REASONS.workflowGone,
      secondsLeft: undefined,
    });
    return false;
  }

  async #setPaused(paused: boolean): Promise<void> {
    this.#commands += 1;
    this.progress.setPaused(paused);
    await this.#write(() =>
      rowActivities<RowActivities>(paused ? 'Pause' : 'Resume').setBulkPaused({
        ...this.#step,
        paused,
      }),
    );
  }

  async #end(reason: string): Promise<string> {
    return this.#write(async () => {
      const end = await rowActivities<RowActivities>(
        'End the request',
      ).endBulkCreate({
        ...this.#step,
        reason,
      });
      if (end.status === 'failed')
        this.progress.enter('failed', {
          reason: end.reason,
          secondsLeft: undefined,
        });
      return end.status;
    });
  }

  /**
   * Runs `work` after the previous write, even when the workflow is being
   * cancelled: the row must record the outcome.
   */
  async #write<T>(work: () => Promise<T>): Promise<T> {
    this.#writesOpen += 1;
    const written = this.#writing
      .then(() => CancellationScope.nonCancellable(work))
      .finally(() => {
        this.#writesOpen -= 1;
      });
    this.#writing = written.then(() => undefined);
    return written;
  }
}

function reasonOf(error: unknown): string {
  if (isCancellation(error)) return BULK_END_REASONS.byOperator;
  const cause = error instanceof ActivityFailure ? error.cause : undefined;
  // A bug in our code: fail the workflow task, so that a corrected worker can
  // continue from here.
  if (cause === undefined) throw error;
  const isForCaller =
    cause instanceof ApplicationFailure &&
    cause.type === BULK_FAILURE_TYPES.unreadableUpload;
  return isForCaller ? cause.message : BULK_END_REASONS.ourFault;
}

type State = BulkCreateProgress['state'];
type Facts = Omit<BulkCreateProgress, 'requestId' | 'state'>;

const NOTHING: BulkCounts = {
  rows: 0,
  handled: 0,
  created: 0,
  updated: 0,
  failed: 0,
};
const DESCRIPTION: Record<State, string> = {
  'waiting-for-upload': 'Waiting for the file',
  checking: 'Checking the file’s format',
  processing: 'Processing the rows',
  paused: 'Paused; send the update `resume` to continue',
  joining: 'Writing the result',
  completed: 'Completed',
  failed: 'Failed',
  expired: 'Expired: no file was uploaded in time',
};

/**
 * The progress of a bulk create. Plain rules without Temporal, so that tests
 * can apply them in any order.
 */
export class BulkProgress {
  #step: Exclude<State, 'paused'> = 'waiting-for-upload';
  #paused = false;
  #facts: Facts = { counts: NOTHING };
  readonly requestId: string;
  readonly onChange: (progress: BulkProgress) => void;

  constructor(
    requestId: string,
    onChange: (progress: BulkProgress) => void = () => {},
  ) {
    this.requestId = requestId;
    this.onChange = onChange;

    this.onChange(this);
  }

  get paused(): boolean {
    return this.#paused;
  }

  get hasEnded(): boolean {
    return (
      this.#step === 'completed' ||
      this.#step === 'failed' ||
      this.#step === 'expired'
    );
  }

  /** True while there may be rows left to process. */
  get canPause(): boolean {
    return !this.hasEnded && this.#step !== 'joining';
  }

  /**
   * Enters a step, with what is known of it. Does nothing after the end: an
   * ended request stays ended.
   */
  enter(step: Exclude<State, 'paused'>, facts: Partial<Facts> = {}): void {
    if (this.hasEnded) return;
    this.#step = step;
    this.update(facts);
  }

  update(facts: Partial<Facts>): void {
    this.#facts = { ...this.#facts, ...facts };
    this.onChange(this);
  }

  setPaused(paused: boolean): void {
    this.#paused = paused;
    this.onChange(this);
  }

  snapshot(): BulkCreateProgress {
    const state = this.#paused && !this.hasEnded ? 'paused' : this.#step;
    return { requestId: this.requestId, state, ...this.#facts };
  }

  /** Markdown for the workflow's page in the Temporal UI. */
  toMarkdown(): string {
    const { state, counts, rowsPerSecond, secondsLeft, reason } =
      this.snapshot();
    const lines = [
      `**${DESCRIPTION[state]}**${reason === undefined ? '' : `: ${reason}`}`,
    ];
    if (counts.rows > 0) {
      const { rows, handled, created, updated, failed } = counts;
      const percent = Math.floor((handled * 100) / rows);
      lines.push(`- ${handled} of ${rows} rows (${percent} %)`);
      lines.push(
        `- ${created} created · ${updated} updated · ${failed} failed`,
      );
    }
    if (rowsPerSecond !== undefined) {
      const left =
        state === 'processing' && secondsLeft !== undefined
          ? ` · ${secondsLeft} s left`
          : '';
      lines.push(`- ${rowsPerSecond} rows/s${left}`);
    }
    return lines.join('\n');
  }
}
