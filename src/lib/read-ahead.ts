/**
 * Yields what the source yields, and reads the next item while the caller works
 * on this one. Ends the source when the caller stops early.
 */
export async function* readAhead<T>(
  source: AsyncGenerator<T, void>,
): AsyncGenerator<T, void> {
  let next = source.next();
  try {
    for (;;) {
      const item = await next;
      if (item.done === true) return;
      next = source.next();
      // An error is thrown when the caller asks for the next item; one that
      // stops early does not ask.
      next.catch(() => undefined);
      yield item.value;
    }
  } finally {
    // Waits for what is being read.
    await source.return();
  }
}
