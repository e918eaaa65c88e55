/**
 * Bounds the log lines that callers can cause. What exceeds it is
 * counted, and the next line states the count.
 */
export class LineBudget {
  #second = 0;
  #written = 0;
  #left = 0;
  private readonly perSecond: number;
  private readonly now: () => number;

  constructor(perSecond: number, now: () => number = Date.now) {
    this.perSecond = perSecond;
    this.now = now;
  }

  /**
   * Undefined when this line must not be written, else how many were left out
   * since the last one.
   */
  take(): { left: number } | undefined {
    const second = Math.floor(this.now() / 1_000);
    if (second !== this.#second) this.#written = 0;
    this.#second = second;
    if (this.#written >= this.perSecond) {
      this.#left += 1;
      return undefined;
    }
    this.#written += 1;
    const left = this.#left;
    this.#left = 0;
    return { left };
  }
}
