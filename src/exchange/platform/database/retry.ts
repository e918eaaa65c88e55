import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 5;

/** Thrown inside a transaction that another one overtook: rolled back and tried again from its start. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
}

/**
 * Runs a whole transaction again when the database ended it in favour of another: dead lock, serialisation, or a row that
 * it refers to was deleted. `mayRetry` is asked each time.
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
  // 23503: a row that was there when it was read is not any more, so a foreign key leads nowhere.
  // 55P03: somebody holds a row that was not to be waited for.
  return code === '40001' || code === '40P01' || code === '23503' || code === '55P03';
}
