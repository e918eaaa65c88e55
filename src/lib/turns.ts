/**
 * Runs at most so many pieces of work at a time; the others wait in order.
 *
 * @returns runs a piece of work in its turn, and resolves with its result
 */
export function createTurns(
  atOnce: number,
): <T>(work: () => Promise<T>) => Promise<T> {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce)
      await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
