import { setTimeout as sleep } from 'node:timers/promises';
import { ExchangeCallError } from '../../orchestrator/client/failures.ts';

export interface FollowOptions {
  /** Shared by followers that run at the same time. */
  pace?: Pace;
  /** Ends the following, never the work: the last known state is returned. */
  signal?: AbortSignal;
}

/**
 * Polls the exchange until the state is final, beginning at once; `onChange`
 * receives each new state, and the problem while the exchange does not answer.
 * Returns the last state. Throws ExchangeCallError when the exchange rejects a
 * request.
 */
export async function pollExchange<T>(
  first: T,
  read: (signal?: AbortSignal) => Promise<T>,
  {
    isRunning,
    onChange,
    waitMs: waitOf = () => undefined,
    pace = new Pace(),
    signal,
  }: FollowOptions & {
    isRunning: (state: T) => boolean;
    onChange: (state: T, problem?: string) => void;
    /** The wait that the exchange asks for with this state (Retry-After). */
    waitMs?: (state: T) => number | undefined;
  },
): Promise<T> {
  let state = first;
  let shown = '';
  let delayMs: number | undefined;
  const isOver = () => signal?.aborted === true;
  while (!isOver() && isRunning(state)) {
    let problem: string | undefined;
    let waitMs = 0;
    try {
      state = await read(signal);
      waitMs = waitOf(state) ?? 0;
    } catch (error) {
      if (isOver()) break;
      if (!(error instanceof ExchangeCallError) || !isTransient(error))
        throw error;
      problem = `the exchange does not answer (${error.message}); trying again`;
      waitMs = error.retryAfterMs ?? 0;
    }
    const now = JSON.stringify([state, problem]);
    const changed = now !== shown;
    if (changed) onChange(state, problem);
    shown = now;
    if (!isRunning(state)) break;
    delayMs = nextDelayMs(delayMs, changed);
    await pace.turn(Math.max(delayMs, waitMs), signal);
  }
  return state;
}

/** Whether the next attempt may succeed. */
const isTransient = ({ kind }: ExchangeCallError): boolean =>
  kind === 'unavailable' || kind === 'rate-limited';

const FIRST_MS = 500;
const GROWTH = 1.5;
const LONGEST_MS = 5_000;

/**
 * Time to wait before the next poll: short after a change, then growing while
 * nothing changes.
 */
export const nextDelayMs = (
  lastMs: number | undefined,
  changed: boolean,
): number =>
  lastMs === undefined || changed
    ? FIRST_MS
    : Math.min(lastMs * GROWTH, LONGEST_MS);

/**
 * Limits how often all followers together poll. A poll is two requests or a
 * workflow query; the limit is far below an account's 1,200 requests per minute
 * and below what a worker would notice.
 */
export class Pace {
  readonly #gapMs: number;
  #nextAtMs = 0;

  constructor(looksPerSecondMax = 5) {
    this.#gapMs = 1_000 / looksPerSecondMax;
  }

  /**
   * Resolves after `delayMs` and when it is this follower's turn, or when the
   * signal is aborted.
   */
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
  await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch(
    () => undefined,
  );
}
