import { OverloadError } from '../errors.ts';

/**
 * An account without a transaction for this long is silent, and the others
 * share what it had.
 */
const SILENT_AFTER_MS = 2_000;

/** Counts the accounts that had a transaction in the last seconds. */
class ActiveAccounts {
  /**
   * When each was last active; the one that has been silent for longest comes
   * first.
   */
  readonly #lastMs = new Map<string, number>();

  note(accountId: string): void {
    this.#lastMs.delete(accountId);
    this.#lastMs.set(accountId, performance.now());
  }

  count(): number {
    for (const [accountId, lastMs] of this.#lastMs) {
      if (performance.now() - lastMs < SILENT_AFTER_MS) break;
      this.#lastMs.delete(accountId);
    }
    return this.#lastMs.size;
  }
}

interface Line {
  running: Set<Slot>;
  waiting: Set<() => void>;
}

interface Slot {
  /** On the clock of `performance`. */
  beganAtMs: number;
}

export interface SlotOptions {
  /** Maximum number of concurrent transactions of one account. */
  atOnceMax: number;
  /**
   * While several accounts are active, they share this many evenly; each may
   * have one. Default: no sharing.
   */
  sharedMax?: number;
  /** How long a transaction waits for a slot; the same as for a connection. */
  waitMs: number;
}

/**
 * A transaction that runs for longer is itself waiting, for a lock or a reader,
 * so it is not counted against a share.
 */
const LONG_MS = 1_000;
/**
 * How often it is checked whether waiting transactions may begin although none
 * of their account has ended.
 */
const CHECK_MS = 100;

/**
 * Limits the number of concurrent transactions per account. Further
 * transactions of an account wait in its own queue before they request a
 * connection, so that one account cannot fill the queue of the connection pool.
 * While several accounts are active, each may have fewer, because they share
 * the cores of PostgreSQL.
 *
 * Not `Lanes`, whose limits are fixed and whose lanes wait for each other:
 * accounts never wait for another one here, the share moves with who is active,
 * long transactions are not counted, and waiting ends after a time.
 */
export class AccountSlots {
  readonly #lines = new Map<string, Line>();
  readonly #active = new ActiveAccounts();
  #checks: NodeJS.Timeout | undefined;
  private readonly options: SlotOptions;

  constructor(options: SlotOptions) {
    this.options = options;
  }

  /**
   * Runs `work` once a slot is free. Rejects with OverloadError, without
   * starting `work`, if that takes too long.
   */
  async run<T>(accountId: string, work: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(accountId) ?? {
      running: new Set(),
      waiting: new Set(),
    };
    this.#lines.set(accountId, line);
    this.#active.note(accountId);
    const slot = await this.#slotIn(line);
    try {
      return await work();
    } finally {
      line.running.delete(slot);
      this.#active.note(accountId);
      this.#letBegin(line);
      if (line.running.size === 0) this.#lines.delete(accountId);
    }
  }

  #slotIn(line: Line): Slot | Promise<Slot> {
    if (line.waiting.size === 0 && this.#mayBegin(line)) return begun(line);
    this.#checks ??= setInterval(() => this.#check(), CHECK_MS).unref();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        line.waiting.delete(begin);
        reject(
          new OverloadError(
            'account',
            'Too many concurrent requests of this account; try again shortly',
          ),
        );
      }, this.options.waitMs);
      const begin = () => {
        clearTimeout(timer);
        resolve(begun(line));
      };
      line.waiting.add(begin);
    });
  }

  #mayBegin({ running }: Line): boolean {
    if (running.size >= this.options.atOnceMax) return false;
    const share = this.#share();
    if (running.size < share) return true;
    const longSince = performance.now() - LONG_MS;
    return (
      [...running].filter(({ beganAtMs }) => beganAtMs > longSince).length <
      share
    );
  }

  #share(): number {
    const { atOnceMax, sharedMax } = this.options;
    const accounts = this.#active.count();
    if (sharedMax === undefined || accounts < 2) return atOnceMax;
    return Math.max(1, Math.floor(sharedMax / accounts));
  }

  /** Begins the transactions that have waited longest, as many as may run. */
  #letBegin(line: Line): void {
    for (const begin of line.waiting) {
      if (!this.#mayBegin(line)) return;
      line.waiting.delete(begin);
      begin();
    }
  }

  /**
   * A share also grows when other accounts become silent, or when an account's
   * own transactions turn out to be long.
   */
  #check(): void {
    for (const line of this.#lines.values()) this.#letBegin(line);
    if ([...this.#lines.values()].some(({ waiting }) => waiting.size > 0))
      return;
    clearInterval(this.#checks);
    this.#checks = undefined;
  }
}

function begun(line: Line): Slot {
  const slot = { beganAtMs: performance.now() };
  line.running.add(slot);
  return slot;
}
