/**
 * Combines signals: aborts with the first of them, with its reason. Replaces
 * AbortSignal.any, which holds its signals only weakly: on Node.js 24, an abort
 * is sometimes lost after a garbage collection.
 */
export function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) {
      controller.abort(signal.reason);
      break;
    }
    // After the first abort, remove the listeners from the other signals, which
    // may live long.
    signal.addEventListener('abort', () => controller.abort(signal.reason), {
      once: true,
      signal: controller.signal,
    });
  }
  return controller.signal;
}

/**
 * Waits for work that may go on after `signal` has aborted, but no longer than
 * `graceMs` after that; then it rejects with the reason of the abort, and a
 * result that comes later is handed to `late`.
 */
export async function withinGrace<T>(
  work: Promise<T>,
  {
    signal,
    graceMs,
    late,
  }: { signal: AbortSignal; graceMs: number; late: (result: T) => void },
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  let startTimer = (): void => undefined;
  let isOver = false;
  const over = new Promise<never>((_resolve, reject) => {
    startTimer = () => {
      timer = setTimeout(() => {
        isOver = true;
        reject(signal.reason);
      }, graceMs);
    };
  });
  if (signal.aborted) startTimer();
  else signal.addEventListener('abort', startTimer, { once: true });
  work.then(
    (result) => {
      if (isOver) late(result);
    },
    () => undefined,
  );
  try {
    return await Promise.race([work, over]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', startTimer);
  }
}
