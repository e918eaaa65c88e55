/**
 * Waits for work that may go on after `signal` has aborted, but no longer than `graceMs` after that; then it rejects with the
 * reason of the abort, and a result that comes later is handed to `late`.
 */
export async function withinGrace<T>(
  work: Promise<T>,
  { signal, graceMs, late }: { signal: AbortSignal; graceMs: number; late: (result: T) => void },
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
