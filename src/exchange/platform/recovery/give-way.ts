import type { Recovery } from './recovery.ts';

/** A backlog waits at most this long, even if one import follows another. */
const LONGEST_WAIT_MS = 10 * 60_000;

/**
 * The same recovery, but while patients are imported it waits: both would use the same cores and tables, and a caller waits
 * for the import. It does not wait longer than ten minutes with work left; then it works beside imports until all is done.
 */
export function givingWay(
  recovery: Recovery,
  isImporting: () => Promise<boolean>,
  { longestWaitMs = LONGEST_WAIT_MS, now = Date.now }: { longestWaitMs?: number; now?: () => number } = {},
): Recovery {
  let waitingSince: number | undefined;
  return {
    ...recovery,
    async takeUp(round) {
      if (await isImporting()) {
        waitingSince ??= now();
        if (now() - waitingSince < longestWaitMs)
          return { found: 0, healed: 0, failures: [], isBehind: true, cursor: round.cursor };
      }
      const taken = await recovery.takeUp(round);
      if (taken.isBehind !== true) waitingSince = undefined;
      return taken;
    },
  };
}
