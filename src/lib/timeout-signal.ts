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
