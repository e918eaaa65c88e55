/** Counts the requests of the last second; `admit` returns whether one more is within the limit. */
export class RateLimit {
  #admittedAtMs: number[] = [];

  admit(perSecond: number | null, nowMs = Date.now()): boolean {
    if (perSecond === null) return true;
    this.#admittedAtMs = this.#admittedAtMs.filter((atMs) => atMs > nowMs - 1000);
    if (this.#admittedAtMs.length >= perSecond) return false;
    this.#admittedAtMs.push(nowMs);
    return true;
  }
}
