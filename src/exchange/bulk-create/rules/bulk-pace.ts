import type { BulkCounts } from '../../../contract/bulk-create-workflow.ts';

/**
 * How fast a bulk create handles its rows, over the time that it was not paused, and, while it does, how long the rest
 * takes at that pace. Nothing before the first rows are done.
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
  if (request.status !== 'processing' || request.paused) return { rowsPerSecond };
  return { rowsPerSecond, secondsLeft: Math.ceil((rows - handled) / perSecond) };
}
