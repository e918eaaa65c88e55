/**
 * Runs `work` on each item, at most `atOnceMax` at a time, and returns the
 * results in the order of the items. When one call rejects, no further item is
 * started; the running ones are awaited, and the first error is thrown.
 */
export async function mapAtMost<T, R>(
  items: readonly T[],
  atOnceMax: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results = new Map<number, R>();
  const errors: unknown[] = [];
  let next = 0;
  const lane = async () => {
    while (errors.length === 0) {
      const index = next++;
      if (index >= items.length) return;
      try {
        results.set(index, await work(items[index] as T));
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(
    Array.from({ length: Math.min(atOnceMax, items.length) }, lane),
  );
  if (errors.length > 0) throw errors[0];
  return items.map((_, index) => results.get(index) as R);
}
