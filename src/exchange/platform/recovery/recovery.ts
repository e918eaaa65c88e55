/** Committed work of one kind that a crash may have left unstarted: what `reconcile` takes up beside queries and events. */
export interface LeftOverWork {
  /** For the log: `bulk creates`. */
  name: string;
  /** Takes up at most `limit`; harmless when done twice. Returns how many there were. */
  takeUp(limit: number): Promise<number>;
}
