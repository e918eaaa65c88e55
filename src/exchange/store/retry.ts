import { setTimeout as sleep } from 'node:timers/promises';

const TRIES = 5;

/** Thrown inside a transaction that another one overtook: rolled back and tried again from its start. */
export class OvertakenError extends Error {
  override readonly name = 'OvertakenError';
}

/** Runs a whole transaction again when the database ended it in favour of another (dead lock, serialisation). */
export async function retryOvertaken<T>(transaction: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction();
    } catch (error) {
      if (attempt === TRIES || !wasOvertaken(error)) throw error;
      await sleep(Math.random() * 20 * 2 ** attempt);
    }
  }
}

function wasOvertaken(error: unknown): boolean {
  if (error instanceof OvertakenError) return true;
  const code = (error as { code?: unknown } | null)?.code;
  return code === '40001' || code === '40P01';
}
