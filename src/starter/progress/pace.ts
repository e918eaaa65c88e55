import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_MS = 500;
const GROWTH = 1.5;
const LONGEST_MS = 5_000;

/** How long to wait before the next look: short after a change, longer the longer nothing happens. */
export function nextDelayMs(lastMs: number | undefined, changed: boolean): number {
  return lastMs === undefined || changed ? FIRST_MS : Math.min(lastMs * GROWTH, LONGEST_MS);
}

/**
 * Bounds how often all followers together look (two requests or a workflow query each), far below what an account
 * may ask (1200 requests a minute) and what a worker notices.
 */
export class Pace {
  readonly #gapMs: number;
  #nextAtMs = 0;

  constructor(looksPerSecondMax = 5) {
    this.#gapMs = 1_000 / looksPerSecondMax;
  }

  /** Resolves after `delayMs` and when it is this follower's turn; at once when the signal is raised. */
  async turn(delayMs: number, signal?: AbortSignal): Promise<void> {
    await pause(delayMs, signal);
    const now = Date.now();
    const atMs = Math.max(now, this.#nextAtMs);
    this.#nextAtMs = atMs + this.#gapMs;
    await pause(atMs - now, signal);
  }
}

/** Resolves after the time or when the signal is raised, whichever comes first. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (ms <= 0 || signal?.aborted === true) return;
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
}
