import { OverloadError } from '../errors.ts';

interface Line {
  running: number;
  waiting: Set<() => void>;
}

/**
 * Limits the number of concurrent transactions per account. Further transactions of an account wait in its own queue before
 * they request a connection, so that one account cannot fill the queue of the connection pool.
 */
export class AccountTurns {
  readonly #lines = new Map<string, Line>();

  /** @param options `waitMs`: how long a transaction waits for its turn, as long as for a connection */
  constructor(private readonly options: { atOnceMax: number; waitMs: number }) {}

  /** Runs `work` when it is its turn. Rejects with OverloadError, without starting `work`, if that takes too long. */
  async run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(accountId) ?? { running: 0, waiting: new Set() };
    this.#lines.set(accountId, line);
    if (line.running < this.options.atOnceMax) line.running += 1;
    else await this.#turnIn(line);
    try {
      return await work();
    } finally {
      this.#passOn(accountId, line);
    }
  }

  #turnIn(line: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        line.waiting.delete(begin);
        reject(new OverloadError('Too many concurrent requests of this account; try again shortly'));
      }, this.options.waitMs);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      line.waiting.add(begin);
    });
  }

  /** Gives the turn to the transaction that has waited longest; `running` does not change then. */
  #passOn(accountId: string, line: Line): void {
    const [next] = line.waiting;
    if (next !== undefined) {
      line.waiting.delete(next);
      next();
      return;
    }
    line.running -= 1;
    if (line.running === 0) this.#lines.delete(accountId);
  }
}
