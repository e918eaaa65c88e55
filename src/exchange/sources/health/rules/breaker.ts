/**
 * What is known of a connection to a source. Times in milliseconds since the
 * epoch.
 */
export interface ConnectionState {
  connection: string;
  /** Attempts whose calls failed since the source last answered. */
  failing: readonly string[];
  /** Why the last call failed. */
  reason?: string;
  /**
   * Since when the breaker is open: no call is made but one probe at a time.
   */
  openedAt?: number;
  /** Probes that were made since then. */
  probes: number;
  nextProbeAt?: number;
  /** Set by an operator: no call is made at all. */
  paused?: { at: number; by: string; reason: string };
}

/**
 * Number of different attempts that must fail in a row: one patient's failing
 * record says nothing about the others.
 */
export const FAILURES_TO_OPEN = 5;

const PROBE_FIRST_MS = 15_000;
/**
 * A worker that takes a probe has this long to report how it ended; then
 * another one takes it.
 */
export const PROBE_LEASE_MS = 2 * 60_000;
/** The longest time between two probes. */
const PROBE_MAX_MS = PROBE_LEASE_MS;

export const newConnection = (connection: string): ConnectionState => ({
  connection,
  failing: [],
  probes: 0,
});

/**
 * The state after a call of `attempt` failed, for a reason that is not about
 * its patient.
 */
export function afterFailure(
  state: ConnectionState,
  { attempt, reason }: { attempt: string; reason: string },
  now: number,
): ConnectionState {
  const failing = state.failing.includes(attempt)
    ? state.failing
    : [...state.failing, attempt].slice(0, FAILURES_TO_OPEN);
  const failed = { ...state, failing, reason };
  if (failing.length < FAILURES_TO_OPEN) return failed;
  const waitMs = Math.min(
    PROBE_FIRST_MS * 2 ** Math.min(state.probes, 10),
    PROBE_MAX_MS,
  );
  // Calls that began before the breaker opened, and fail after it, must not put
  // the next probe off.
  const nextProbeAt = Math.min(
    now + waitMs,
    state.nextProbeAt ?? Number.POSITIVE_INFINITY,
  );
  return { ...failed, openedAt: state.openedAt ?? now, nextProbeAt };
}

export type Admission =
  | { kind: 'call' }
  /** A probe is due; the first that takes it may call. */
  | { kind: 'probe' }
  | { kind: 'wait'; reason: string; isPaused?: boolean };

/** Whether a call may be made over the connection now. */
export function admission(
  state: ConnectionState | undefined,
  now: number,
): Admission {
  if (state?.paused !== undefined)
    return { kind: 'wait', reason: pauseReason(state.paused), isPaused: true };
  if (state?.openedAt === undefined) return { kind: 'call' };
  if ((state.nextProbeAt ?? 0) <= now) return { kind: 'probe' };
  return { kind: 'wait', reason: state.reason ?? 'the source does not answer' };
}

const pauseReason = ({ reason }: { reason: string }): string =>
  `paused by an operator (${reason})`;

const SHORTEST_MS = 30_000;
const LONGEST_MS = 15 * 60_000;

/**
 * How long a query waits that may not call now. A quarter of the time the
 * source has been away so far, so that the queries continue soon after a short
 * outage; spread widely, so that they do not all come back at once.
 *
 * @param random from 0 to 1
 */
export function waitWhileHeld(
  state: ConnectionState,
  now: number,
  random = Math.random(),
): number {
  const since = state.openedAt ?? state.paused?.at ?? now;
  const quarter = Math.min(
    Math.max((now - since) / 4, SHORTEST_MS),
    LONGEST_MS,
  );
  return Math.round(quarter * (0.5 + random));
}

/**
 * How long background work (sweeps, monitoring) starts no queries of this
 * source, in milliseconds; 0 when it may. When a probe is due it may start
 * some: without a waiting query, nothing would find out that the source is
 * back.
 */
export function backgroundHoldMs(
  state: ConnectionState | undefined,
  now: number,
): number {
  if (state?.paused !== undefined) return SHORTEST_MS;
  if (state?.openedAt === undefined) return 0;
  return Math.max(0, (state.nextProbeAt ?? 0) - now);
}
