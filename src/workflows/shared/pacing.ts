/** How much of a per-minute budget a piece of work has used. */
export interface Use {
  count: number;
  perMinute: number;
}

/**
 * Milliseconds to wait before the next piece of work, so that all of them together stay within each budget: a piece that
 * used `count` takes up `count / perMinute` minutes, of which `elapsedMs` have passed. Unused budget does not accumulate.
 */
export function pauseAfter(uses: readonly Use[], elapsedMs: number): number {
  const dueMs = uses.map(({ count, perMinute }) => (count * 60_000) / Math.max(perMinute, 1));
  return Math.max(0, Math.ceil(Math.max(0, ...dueMs) - elapsedMs));
}

/** Limits the page size so that a single page never exceeds the budget of one minute. At least 1. */
export const pageWithin = (pageSize: number, perMinute: number): number =>
  Math.max(1, Math.min(pageSize, Math.floor(perMinute)));

/** The wait before try number `tries` (from 0), in milliseconds: doubles with each try, up to `maxMs`. */
export const backOff = (tries: number, firstMs: number, maxMs: number): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(tries, 30));

/** Whether to continue as new, so that the history stays short: after `pagesPerRun` pages, or when Temporal suggests it. */
export const shouldContinueAsNew = (
  { pages, suggested }: { pages: number; suggested: boolean },
  pagesPerRun: number,
): boolean => pages >= pagesPerRun || suggested;
