import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_MS = 500;
const GROWTH = 1.5;
const LONGEST_MS = 5_000;

/** Time to wait before the next look: short after a change, then growing while nothing changes. */
export function nextDelayMs(lastMs: number | undefined, changed: boolean): number {
  return lastMs === undefined || changed ? FIRST_MS : Math.min(lastMs * GROWTH, LONGEST_MS);
}

/**
 * Limits how often all followers together look. A look is two requests or a workflow query; the limit is far below an
 * account's 1,200 requests per minute and below what a worker would notice.
 */
export class Pace {
  readonly #gapMs: number;
  #nextAtMs = 0;

  constructor(looksPerSecondMax = 5) {
    this.#gapMs = 1_000 / looksPerSecondMax;
  }

  /** Resolves after `delayMs` and when it is this follower's turn, or when the signal is aborted. */
  async turn(delayMs: number, signal?: AbortSignal): Promise<void> {
    await pause(delayMs, signal);
    const now = Date.now();
    const atMs = Math.max(now, this.#nextAtMs);
    this.#nextAtMs = atMs + this.#gapMs;
    await pause(atMs - now, signal);
  }
}

/** Resolves after the time, or when the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0 || signal?.aborted === true) return;
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
