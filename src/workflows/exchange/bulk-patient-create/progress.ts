import type { BulkCounts } from '../../../contract/bulk-create.ts';
import type { BulkCreateProgress } from '../../../contract/bulk-create-workflow.ts';

type State = BulkCreateProgress['state'];
type Facts = Omit<BulkCreateProgress, 'requestId' | 'state'>;

const NOTHING: BulkCounts = { rows: 0, handled: 0, created: 0, updated: 0, failed: 0 };
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

/** The progress of a bulk create. Plain rules without Temporal, so that tests can apply them in any order. */
export class BulkProgress {
  #step: Exclude<State, 'paused'> = 'waiting-for-upload';
  #paused = false;
  #facts: Facts = { counts: NOTHING };

  constructor(
    readonly requestId: string,
    readonly onChange: (progress: BulkProgress) => void = () => {},
  ) {
    this.onChange(this);
  }

  get paused(): boolean {
    return this.#paused;
  }

  get hasEnded(): boolean {
    return this.#step === 'completed' || this.#step === 'failed' || this.#step === 'expired';
  }

  /** True while there may be rows left to process. */
  get canPause(): boolean {
    return !this.hasEnded && this.#step !== 'joining';
  }

  /** Enters a step, with what is known of it. Does nothing after the end: an ended request stays ended. */
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
    const { state, counts, rowsPerSecond, secondsLeft, reason } = this.snapshot();
    const lines = [`**${DESCRIPTION[state]}**${reason === undefined ? '' : `: ${reason}`}`];
    if (counts.rows > 0) {
      const { rows, handled, created, updated, failed } = counts;
      const percent = Math.floor((handled * 100) / rows);
      lines.push(`- ${handled} of ${rows} rows (${percent} %)`);
      lines.push(`- ${created} created · ${updated} updated · ${failed} failed`);
    }
    if (rowsPerSecond !== undefined) {
      const left = state === 'processing' && secondsLeft !== undefined ? ` · ${secondsLeft} s left` : '';
      lines.push(`- ${rowsPerSecond} rows/s${left}`);
    }
    return lines.join('\n');
  }
}
