import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks again and again until the answer is yes; false when it was not within
 * the time. A failing question is a no.
 */
export async function until(
  check: () => Promise<boolean>,
  options: { timeoutMs: number; everyMs?: number },
): Promise<boolean> {
  const deadlineAt = Date.now() + options.timeoutMs;
  do {
    if (await check().catch(() => false)) return true;
    await sleep(options.everyMs ?? 20);
  } while (Date.now() < deadlineAt);
  return false;
}
