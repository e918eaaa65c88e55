import type { Logger } from '../../lib/logger.ts';

/** A warning that strangers can provoke as often as they like: written at once, then at most once a minute with their number. */
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
