import { ExchangeCallError } from '../../orchestrator/client/failures.ts';
import { nextDelayMs, Pace } from './pace.ts';

export interface FollowOptions {
  /** Shared by followers that run at the same time. */
  pace?: Pace;
  /** Ends the following, never the work: the last known state is returned. */
  signal?: AbortSignal;
}

/**
 * Polls the exchange until the state is final, beginning at once; `onChange` receives each new state, and the problem
 * while the exchange does not answer. Returns the last state. Throws ExchangeCallError when the exchange rejects a request.
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
      if (!(error instanceof ExchangeCallError) || !isTransient(error)) throw error;
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
