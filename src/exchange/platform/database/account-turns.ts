import { OverloadError } from '../errors.ts';

interface Line {
  running: number;
  waiting: Set<() => void>;
}

/**
 * At most so many transactions of one account at a time. A further one waits behind those of its own account, before it
 * asks for a connection, so that the queue for connections never holds more than this share of any account.
 */
export class AccountTurns {
  readonly #lines = new Map<string, Line>();

  /** @param waitMs as long as a transaction would wait for a connection */
  constructor(private readonly options: { atOnceMax: number; waitMs: number }) {}

  /** Rejects with OverloadError when the turn does not come in time; `work` has not begun then. */
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
        reject(new OverloadError('Too many requests of this account are under way; try again shortly'));
      }, this.options.waitMs);
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      line.waiting.add(begin);
    });
  }

  /** The turn goes to whoever waits longest; `running` stays as it is then. */
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
