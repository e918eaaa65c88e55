import type { IssuedToken } from './token-deps.ts';
import { TokenRefused } from './token-request.ts';

/** A difference between the clocks that may be why the server rejected an assertion. */
const SKEW_MS = 30_000;

/**
 * Requests a token with an assertion signed at our time. If the server rejects it and its clock differs from ours, the
 * assertion has expired, or is not valid yet, by its clock: then once more by that clock.
 */
export async function byServerClock(
  now: () => number,
  request: (nowMs: number) => Promise<IssuedToken>,
): Promise<IssuedToken> {
  try {
    return await request(now());
  } catch (error) {
    if (!(error instanceof TokenRefused) || !isClockFault(error)) throw error;
    return request(now() + (error.clockAheadMs ?? 0));
  }
}

const isClockFault = ({ code, clockAheadMs = 0 }: TokenRefused): boolean =>
  (code === 'invalid_client' || code === 'invalid_grant') && Math.abs(clockAheadMs) > SKEW_MS;
