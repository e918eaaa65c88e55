import { setTimeout as delay } from 'node:timers/promises';
import type { CallBudgets } from '../budget-store.ts';
import { type CallRates, callsAtOnce } from '../rules/call-budget.ts';

/** Spaces the calls of this process to one base address. */
export interface CallPace {
  /** Resolves when a call may be made; rejects when `signal` is aborted, or the budgets cannot be read. */
  turn(signal: AbortSignal): Promise<void>;
  /** The source wants no call for this time, in milliseconds. */
  block(forMs: number): void;
}

/** Calls that were taken from the budget and not used within this time are lost. */
const KEEP_MS = 1_000;

/** Without budgets, calls are made at once. */
export const UNPACED: CallPace = { turn: async () => undefined, block: () => undefined };

/**
 * The pace of one base address. Calls are taken from the shared budget in small batches: as many as wait, and at least a
 * fifth of what was called in the last second, so that a busy source does not cost a transaction for each call.
 */
export function createCallPace(budgets: CallBudgets, target: string, rates: CallRates): CallPace {
  let batch = { calls: 0, at: 0 };
  let blockedUntil = 0;
  let waiting = 0;
  let queue: Promise<unknown> = Promise.resolve();
  let recent = { second: 0, calls: 0, before: 0 };

  function countCall(now: number): void {
    const second = Math.floor(now / 1_000);
    if (second === recent.second) recent.calls += 1;
    else recent = { second, calls: 1, before: second === recent.second + 1 ? recent.calls : 0 };
  }

  /** The time at which the next call may be made. */
  async function nextTime(): Promise<number> {
    const now = Date.now();
    countCall(now);
    if (batch.calls === 0 || now > batch.at + KEEP_MS || batch.at < blockedUntil) {
      const wanted = Math.max(waiting, Math.ceil(Math.max(recent.calls, recent.before) / 5));
      const calls = Math.min(Math.max(wanted, 1), callsAtOnce(rates));
      batch = { calls, at: 0 };
      try {
        batch.at = Date.now() + (await budgets.take(target, rates, calls));
      } catch (error) {
        batch.calls = 0;
        throw error;
      }
    }
    batch.calls -= 1;
    return batch.at;
  }

  return {
    async turn(signal) {
      waiting += 1;
      const own = queue.then(nextTime);
      queue = own.catch(() => undefined);
      const at = await own.finally(() => {
        waiting -= 1;
      });
      signal.throwIfAborted();
      const waitMs = Math.max(at, blockedUntil) - Date.now();
      if (waitMs > 0) await delay(waitMs, undefined, { signal });
    },
    block(forMs) {
      blockedUntil = Math.max(blockedUntil, Date.now() + forMs);
      // Only a hint for the other workers: if it cannot be written, they learn it from the source themselves.
      void budgets.block(target, forMs).catch(() => undefined);
    },
  };
}
