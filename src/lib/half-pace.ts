/**
 * Works on one item after the other and pauses after each for as long as it
 * took, at most `pauseMsMax`. So the work takes at most half of the time, and
 * less of a busy machine, where each item takes longer.
 */
export async function atHalfPace<T>(
  items: readonly T[],
  pauseMsMax: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  for (const [index, item] of items.entries()) {
    const beganMs = performance.now();
    await work(item);
    const pauseMs = Math.min(pauseMsMax, performance.now() - beganMs);
    if (index < items.length - 1)
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}
