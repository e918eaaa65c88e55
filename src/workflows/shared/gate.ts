import { condition } from '@temporalio/workflow';

/** Lets commands pause, resume and stop a paged workflow between two pages. */
export class Gate {
  #state: 'open' | 'paused' | 'stopped';

  constructor(isPaused = false) {
    this.#state = isPaused ? 'paused' : 'open';
  }

  get isPaused(): boolean {
    return this.#state === 'paused';
  }

  get isStopped(): boolean {
    return this.#state === 'stopped';
  }

  pause(): void {
    if (this.#state === 'open') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'open';
  }

  /** Stops the work permanently. */
  stop(): void {
    this.#state = 'stopped';
  }

  /** Waits while paused. Returns true when the work may continue, false when it was stopped. */
  async pass(): Promise<boolean> {
    if (this.isPaused) await condition(() => !this.isPaused);
    return !this.isStopped;
  }

  /** Waits for `waitMs`, or until the gate is stopped. */
  async wait(waitMs: number, summary: string): Promise<void> {
    if (waitMs > 0 && !this.isStopped) await condition(() => this.isStopped, waitMs, { summary });
  }
}
