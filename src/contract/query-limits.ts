/**
 * Default limit of network queries per account, source and minute
 * (docs/interface.md, Limits).
 */
export const NETWORK_QUERIES_PER_MINUTE = 120;

/** Default limit of `realtime` pharmacy queries per account and day (UTC). */
export const PHARMACY_REALTIME_PER_DAY = 1_000;

/**
 * Share of a limit that background queries may use; the rest is reserved for
 * interactive queries.
 */
const BACKGROUND_SHARE = 0.8;

/**
 * Number of queries per source and minute, of all kinds, above which no further
 * background query is started.
 */
export const backgroundLimit = (queriesPerMinute: number): number =>
  Math.min(
    queriesPerMinute,
    Math.max(1, Math.floor(queriesPerMinute * BACKGROUND_SHARE)),
  );

/**
 * Share of the background limit that sweeps may use; the rest is reserved for
 * follow-ups and monitoring, which go first.
 */
const SWEEP_SHARE = 0.9;

/**
 * Number of queries per source and minute, of all kinds, above which a sweep
 * starts no further query.
 */
export const sweepLimit = (queriesPerMinute: number): number => {
  const limit = backgroundLimit(queriesPerMinute);
  return Math.min(limit, Math.max(1, Math.floor(limit * SWEEP_SHARE)));
};

/**
 * Value of the header `priority` for background requests (RFC 9218, urgency 5
 * to 7).
 */
export const BACKGROUND_PRIORITY = 'u=6';

/**
 * Whether an RFC 9218 `priority` header marks a background request. A malformed
 * header is ignored.
 */
export function isBackground(priority: string | undefined): boolean {
  const urgency = /(?:^|,)\s*u=([0-7])(?=\s*(?:[,;]|$))/.exec(
    priority ?? '',
  )?.[1];
  return urgency !== undefined && Number(urgency) >= 5;
}
