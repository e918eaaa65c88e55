import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 100;

/** Resolves with the first value of `look` that is not undefined; its errors count as undefined. Throws after the time. */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined>,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<T> {
  const deadlineAt = Date.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const value = await look().catch(() => undefined);
    if (value !== undefined) return value;
    if (Date.now() > deadlineAt) throw new Error(`${what}: not within ${timeoutMs / 1_000} s`);
    await sleep(POLL_MS);
  }
}
