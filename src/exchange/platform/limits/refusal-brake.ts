import { setTimeout as sleep } from 'node:timers/promises';

const QUICK_PER_SECOND = 50;
const HOLD_MS = 2_000;

/**
 * Slows down clients that repeat rejected requests immediately, whose error responses would otherwise overload the gateway.
 * The first error responses of a second are sent at once; each further one is delayed for longer than `Retry-After`.
 */
export class RefusalBrake {
  #second = 0;
  #counts = new Map<string, number>();

  constructor(private readonly options: { quickPerSecond?: number; holdMs?: number } = {}) {}

  /** @param group the account, or a common name for all callers without one */
  async hold(group: string): Promise<void> {
    const { quickPerSecond = QUICK_PER_SECOND, holdMs = HOLD_MS } = this.options;
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#counts = new Map();
    this.#second = second;
    const count = (this.#counts.get(group) ?? 0) + 1;
    this.#counts.set(group, count);
    if (count > quickPerSecond) await sleep(holdMs);
  }
}
