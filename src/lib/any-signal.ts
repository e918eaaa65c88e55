/**
 * As AbortSignal.any, which refers to its signals only weakly: on Node.js 24 an aborted one is sometimes not passed on
 * once garbage was collected. Aborts with the first of the signals, for that one's reason.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) {
      controller.abort(signal.reason);
      break;
    }
    // Once one has aborted, nothing stays behind at the others, which may live long.
    signal.addEventListener('abort', () => controller.abort(signal.reason), {
      once: true,
      signal: controller.signal,
    });
  }
  return controller.signal;
}
