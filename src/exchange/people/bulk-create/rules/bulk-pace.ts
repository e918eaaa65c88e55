import type { BulkCounts } from '../../../../contract/bulk-create.ts';

/**
 * The pace of a bulk create in rows per second, without pauses, and, while rows
 * are processed, the seconds left at that pace. Empty before the first rows are
 * done.
 */
export function bulkPace(request: {
  status: string;
  paused: boolean;
  counts: BulkCounts;
  /** Time spent on rows, without pauses. */
  activeMs: number;
}): { rowsPerSecond?: number; secondsLeft?: number } {
  const { rows, handled } = request.counts;
  if (handled === 0 || request.activeMs <= 0) return {};
  const perSecond = (handled * 1000) / request.activeMs;
  const rowsPerSecond = Math.round(perSecond * 10) / 10;
  if (request.status !== 'processing' || request.paused)
    return { rowsPerSecond };
  return {
    rowsPerSecond,
    secondsLeft: Math.ceil((rows - handled) / perSecond),
  };
}
