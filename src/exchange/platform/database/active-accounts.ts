/** An account without a transaction for so long is silent, and the others share what it had. */
const SILENT_AFTER_MS = 2_000;

/** Counts the accounts that had a transaction in the last seconds. */
export class ActiveAccounts {
  /** When each was last active; the one that has been silent for longest comes first. */
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
