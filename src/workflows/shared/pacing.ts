/** What a piece of work has used of a budget. */
export interface Use {
  count: number;
  perMinute: number;
}

/**
 * Milliseconds to wait before the next piece of work, so that all of them together stay within each budget: a piece
 * that used `count` is given `count / perMinute` minutes from its beginning. Time that was not used is not saved up.
 */
export function pauseAfter(uses: readonly Use[], elapsedMs: number): number {
  const dueMs = uses.map(({ count, perMinute }) => (count * 60_000) / Math.max(perMinute, 1));
  return Math.max(0, Math.ceil(Math.max(0, ...dueMs) - elapsedMs));
}

/** How large a page may be, so that one alone never uses more than a minute's budget. At least 1. */
export const pageWithin = (pageSize: number, perMinute: number): number =>
  Math.max(1, Math.min(pageSize, Math.floor(perMinute)));

/** The wait before the nth look (from 0) at something that does not move: doubled each time, up to `maxMs`. */
export const backOff = (looks: number, firstMs: number, maxMs: number): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(looks, 30));

/** A history must stay short to replay: after so many pages, or when the server says so, the workflow begins anew. */
export const isTimeToBeginAnew = (
  { pages, suggested }: { pages: number; suggested: boolean },
  pagesPerRun: number,
): boolean => pages >= pagesPerRun || suggested;
