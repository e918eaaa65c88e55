/**
 * Replaces AbortSignal.timeout where the signal is combined with others: Node.js 20 may garbage-collect a timeout signal
 * that only AbortSignal.any refers to, and then it never aborts.
 */
export function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const raise = () => controller.abort(new DOMException('The time is over', 'TimeoutError'));
  // The timer keeps the signal alive, but not the process.
  setTimeout(raise, ms).unref();
  return controller.signal;
}

/**
 * Combines signals: aborts with the first of them, with its reason. Replaces AbortSignal.any, which holds its signals only
 * weakly: on Node.js 24, an abort is sometimes lost after a garbage collection.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) {
      controller.abort(signal.reason);
      break;
    }
    // After the first abort, remove the listeners from the other signals, which may live long.
    signal.addEventListener('abort', () => controller.abort(signal.reason), {
      once: true,
      signal: controller.signal,
    });
  }
  return controller.signal;
}
