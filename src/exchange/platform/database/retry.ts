import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 5;

/**
 * Thrown inside a transaction to roll it back and repeat it, because a
 * concurrent transaction made its reads obsolete.
 */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
}

/**
 * Runs a transaction, and repeats it, up to 5 times in all, if it failed
 * because of a concurrent one: deadlock, serialisation failure, lock not
 * available, or a referenced row was deleted. Stops repeating when `mayRetry`
 * returns false.
 */
export async function retryOvertaken<T>(
  transaction: () => Promise<T>,
  mayRetry: () => boolean = () => true,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === TRIES || !wasOvertaken(error) || !mayRetry()) throw error;
      await sleep(Math.random() * 20 * 2 ** attempt);
    }
  }
}

function wasOvertaken(error: unknown): boolean {
  if (error instanceof OvertakenError) return true;
  const code = (error as { code?: unknown } | null)?.code;
  // 40001: serialisation failure. 40P01: deadlock. 55P03: a lock is not
  // available (NOWAIT). 23503: foreign key violation; a referenced row was
  // deleted after it was read.
  return (
    code === '40001' || code === '40P01' || code === '23503' || code === '55P03'
  );
}
