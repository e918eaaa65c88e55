/** Finishes committed work of one kind that a crash or an outage left behind. The `reconcile` workflow runs them all. */
export interface Recovery {
  /** For the log: `bulk creates`. */
  name: string;
  /** Takes up at most `limit`; harmless when done twice. Returns how many there were. */
  takeUp(limit: number): Promise<number>;
}
