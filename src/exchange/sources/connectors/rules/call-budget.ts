/** How many calls a source allows. Infinity: no limit. */
export interface CallRates {
  perSecond: number;
  perMinute: number;
}

/** How much of its rates a base address has used. Times in milliseconds since the epoch; -Infinity: nothing yet. */
export interface CallBudget {
  /** When the calls made so far have used up their share, at the rate per second and at the rate per minute. */
  secondUsedUntil: number;
  minuteUsedUntil: number;
  /** No call before this time: the source said so. */
  blockedUntil: number;
}

/** This part of a rate may be used at once; the rest is spread evenly, so that no window of that length exceeds the rate. */
const AT_ONCE = 0.2;

/** How many calls may be made at once: a worker takes at most so many together. */
export function callsAtOnce({ perSecond, perMinute }: CallRates): number {
  const rate = Math.min(perSecond, perMinute);
  return Number.isFinite(rate) ? Math.max(1, Math.floor(rate * AT_ONCE)) : 100;
}

/**
 * Takes `calls` from the budget (generic cell rate algorithm). Returns when they may be made, and the budget after them.
 * Sources that share a base address share its budget, each at its own rates.
 */
export function takeCalls(
  budget: CallBudget,
  rates: CallRates,
  calls: number,
  now: number,
): { at: number; budget: CallBudget } {
  const second = spacing(rates.perSecond, 1_000);
  const minute = spacing(rates.perMinute, 60_000);
  // The calls per minute may come in bursts of AT_ONCE; the calls per second only as they are taken.
  const at = Math.max(
    now,
    budget.blockedUntil,
    budget.secondUsedUntil,
    budget.minuteUsedUntil - minute.toleranceMs + (calls - 1) * minute.everyMs,
  );
  return {
    at,
    budget: {
      ...budget,
      secondUsedUntil: at + calls * second.everyMs,
      minuteUsedUntil: Math.max(budget.minuteUsedUntil, at) + calls * minute.everyMs,
    },
  };
}

/** The time between two calls at the rate that remains beside what may be used at once. */
function spacing(rate: number, windowMs: number): { everyMs: number; toleranceMs: number } {
  if (!Number.isFinite(rate)) return { everyMs: 0, toleranceMs: 0 };
  const atOnce = Math.floor(rate * AT_ONCE);
  const everyMs = windowMs / (rate - atOnce);
  return { everyMs, toleranceMs: Math.max(0, atOnce - 1) * everyMs };
}

/** A source's word about its rate blocks all calls to it; longer than this only if it repeats it. */
const BLOCK_MAX_MS = 60_000;
const BLOCK_WITHOUT_WORD_MS = 1_000;

/**
 * For how long the source wants no further call, in milliseconds: Retry-After of a 429, or the reset of a RateLimit header
 * (of the drafts 3 to 10, or `X-RateLimit-…`) with nothing remaining. 0 when it does not say so.
 */
export function blockOf(
  status: number,
  header: (name: string) => string | undefined,
  retryAfterMs: number | undefined,
  now: number,
): number {
  const stated = status === 429 ? (retryAfterMs ?? resetMs(header, now) ?? BLOCK_WITHOUT_WORD_MS) : 0;
  const usedUp = remaining(header) === 0 ? (resetMs(header, now) ?? 0) : 0;
  return Math.min(Math.max(stated, usedUp, 0), BLOCK_MAX_MS);
}

function remaining(header: (name: string) => string | undefined): number | undefined {
  return numberOf(
    header('ratelimit-remaining') ??
      header('x-ratelimit-remaining') ??
      parameter(header('ratelimit'), ['r', 'remaining']),
  );
}

/** Seconds from now; `X-RateLimit-Reset` is often a time in seconds since the epoch instead. */
function resetMs(header: (name: string) => string | undefined, now: number): number | undefined {
  const seconds = numberOf(
    header('ratelimit-reset') ??
      header('x-ratelimit-reset') ??
      parameter(header('ratelimit'), ['t', 'reset']),
  );
  if (seconds === undefined) return undefined;
  return seconds > 1e9 ? seconds * 1_000 - now : seconds * 1_000;
}

/** A parameter of `RateLimit: "default";r=0;t=5` or `RateLimit: limit=10, remaining=0, reset=5`. */
function parameter(value: string | undefined, names: readonly string[]): string | undefined {
  const found = (value ?? '')
    .slice(0, 500)
    .split(/[;,]/)
    .map((part) => part.trim().split('='))
    .find(([name = '']) => names.includes(name));
  return found?.[1];
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined;
