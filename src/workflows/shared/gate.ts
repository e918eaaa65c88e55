import { condition } from '@temporalio/workflow';

/** Where a paced workflow can be held and stopped from outside: between its pages. */
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

  /** For good. */
  stop(): void {
    this.#state = 'stopped';
  }

  /** Waits while it is paused; true when the work may go on, false when it is stopped. */
  async pass(): Promise<boolean> {
    if (this.isPaused) await condition(() => !this.isPaused);
    return !this.isStopped;
  }

  /** Waits that long, or until it is stopped. */
  async wait(waitMs: number, summary: string): Promise<void> {
    if (waitMs > 0 && !this.isStopped) await condition(() => this.isStopped, waitMs, { summary });
  }
}
