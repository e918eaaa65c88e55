/** Completes committed work of one kind that a crash or an outage left unfinished. The workflow `reconcile` runs all of them. */
export interface Recovery {
  /** Name in the log, such as `bulk creates`. */
  name: string;
  /** Takes up at most `limit` items and returns their number. Harmless if repeated. */
  takeUp(limit: number): Promise<number>;
}
