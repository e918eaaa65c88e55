import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 50;
const CALL_TIMEOUT_MS = 5_000;

/**
 * Resolves with the first value of `look` that is not undefined; its errors
 * count as undefined. Throws after the time, with the last of them, or the
 * signal's reason.
 */
export async function waitUntil<T>(
  what: string,
  look: () => Promise<T | undefined>,
  {
    timeoutMs,
    signal,
  }: { timeoutMs: number; signal?: AbortSignal | undefined },
): Promise<T> {
  const deadlineAt = Date.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    let problem: unknown;
    const value = await look().catch((error: unknown) => {
      problem = error;
      return undefined;
    });
    if (value !== undefined) return value;
    if (Date.now() > deadlineAt)
      throw new Error(
        `${what}: not within ${timeoutMs / 1_000} s${problem === undefined ? '' : ` (${problem})`}`,
      );
    await sleep(POLL_MS);
  }
}

/** Rejects when nothing accepts connections at this address (host:port). */
export function checkListening(address: string): Promise<void> {
  const { hostname: host, port } = new URL(`http://${address}`);
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: Number(port),
      timeout: CALL_TIMEOUT_MS,
    });
    socket.once('connect', () => resolve());
    socket.once('timeout', () => reject(new Error('no answer')));
    socket.once('error', reject);
    for (const event of ['connect', 'timeout', 'error'])
      socket.once(event, () => socket.destroy());
  });
}
