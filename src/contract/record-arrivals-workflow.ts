/** Names of the signals of `recordArrivals`. */
export const RECORD_ARRIVALS_MESSAGES = {
  /** Signal: something has arrived, and its row is committed. */
  arrived: 'arrived',
} as const;

/**
 * The shortest wait between an arrival and its merge, in milliseconds: what
 * arrives meanwhile is merged with it.
 */
export const ARRIVAL_WAIT_MS = 2_000;

/** What a step of `recordArrivals` has done. */
export interface ArrivalsMerged {
  /** Number of records. */
  merged: number;
  /** Number of records that could not be merged, and are tried again later. */
  failed: number;
  /**
   * In how many milliseconds the next record is due; undefined: none waits.
   */
  nextInMs?: number;
}
