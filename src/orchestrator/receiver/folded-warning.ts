import type { Logger } from '../../lib/logger.ts';

/**
 * Creates a function that logs a warning which unauthenticated callers can trigger. Logs the first one at once, and further
 * ones at most once per `everyMs`, with their number in `times`.
 */
export function foldedWarning(logger: Pick<Logger, 'warn'>, message: string, everyMs = 60_000): () => void {
  let timer: NodeJS.Timeout | undefined;
  let folded = 0;
  const startTimer = () => {
    timer = setTimeout(() => {
      timer = undefined;
      if (folded === 0) return;
      logger.warn({ times: folded }, message);
      folded = 0;
      startTimer();
    }, everyMs).unref();
  };
  return () => {
    if (timer !== undefined) {
      folded += 1;
      return;
    }
    logger.warn(message);
    startTimer();
  };
}
