import { setTimeout as sleep } from 'node:timers/promises';

const QUICK_PER_SECOND = 50;
const HOLD_MS = 2_000;

/**
 * A client that asks again at once, whatever it is answered, costs others more by its refusals than by its requests. So only
 * the first refusals of a second are answered at once; each further one is held back for longer than `Retry-After` asks for.
 */
export class RefusalBrake {
  #second = 0;
  #counts = new Map<string, number>();

  constructor(private readonly options: { quickPerSecond?: number; holdMs?: number } = {}) {}

  /** @param of an account, or what all refusals without one have in common */
  async hold(of: string): Promise<void> {
    const { quickPerSecond = QUICK_PER_SECOND, holdMs = HOLD_MS } = this.options;
    const second = Math.floor(Date.now() / 1_000);
    if (second !== this.#second) this.#counts = new Map();
    this.#second = second;
    const count = (this.#counts.get(of) ?? 0) + 1;
    this.#counts.set(of, count);
    if (count > quickPerSecond) await sleep(holdMs);
  }
}
