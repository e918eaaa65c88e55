import { type RawBuilder, sql } from 'kysely';
import {
  NOT_FLUSHED,
  type Store,
  type SystemTx,
} from '../../platform/database/database.ts';

export type CallBudgets = ReturnType<typeof createCallBudgets>;

/**
 * The budgets of base addresses, which all workers share. Times are those of
 * PostgreSQL, so that workers with different clocks agree.
 */
export const createCallBudgets = (store: Pick<Store, 'asSystem'>) => ({
  /**
   * Takes calls to a base address. Returns in how many milliseconds they may be
   * made.
   */
  take: (target: string, rates: CallRates, calls: number): Promise<number> =>
    store.asSystem(async (tx) => {
      const row = await lockBudget(tx, target);
      const taken = takeCalls(
        {
          secondUsedUntil: row.second_ms ?? Number.NEGATIVE_INFINITY,
          minuteUsedUntil: row.minute_ms ?? Number.NEGATIVE_INFINITY,
          blockedUntil: row.blocked_ms ?? Number.NEGATIVE_INFINITY,
        },
        rates,
        calls,
        row.now_ms,
      );
      await sql`
        update source_budget set second_used_until = ${instant(taken.budget.secondUsedUntil)},
          minute_used_until = ${instant(taken.budget.minuteUsedUntil)}
        where target = ${target}`.execute(tx.db.later);
      return taken.at - row.now_ms;
    }, NOT_FLUSHED),
  /** Allows no further call for this time, in milliseconds. */
  block: (target: string, forMs: number): Promise<void> =>
    store.asSystem(async (tx) => {
      await lockBudget(tx, target);
      await sql`
        update source_budget set blocked_until =
          greatest(blocked_until, clock_timestamp() + ${forMs} * interval '1 millisecond')
        where target = ${target}`.execute(tx.db);
    }),
});

/** Milliseconds since the epoch; null for a time that was never set. */
interface LockedBudget {
  second_ms: number | null;
  minute_ms: number | null;
  blocked_ms: number | null;
  now_ms: number;
}

async function lockBudget(tx: SystemTx, target: string): Promise<LockedBudget> {
  const locked = await selectBudget(tx, target);
  if (locked !== undefined) return locked;

  await sql`insert into source_budget (target) values (${target}) on conflict do nothing`.execute(
    tx.db.later,
  );
  const inserted = await selectBudget(tx, target);
  if (inserted === undefined)
    throw new Error('a budget was deleted while it was locked');
  return inserted;
}

async function selectBudget(
  tx: SystemTx,
  target: string,
): Promise<LockedBudget | undefined> {
  const { rows } = await sql<LockedBudget>`
    select ${milliseconds('second_used_until')} as second_ms, ${milliseconds('minute_used_until')} as minute_ms,
      ${milliseconds('blocked_until')} as blocked_ms,
      extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
    from source_budget where target = ${target} for update`.execute(tx.db);
  return rows[0];
}

const milliseconds = (column: string): RawBuilder<number | null> =>
  sql`case when isfinite(${sql.ref(column)}) then extract(epoch from ${sql.ref(column)})::float8 * 1000 end`;

const instant = (atMs: number): RawBuilder<Date> =>
  Number.isFinite(atMs)
    ? sql`to_timestamp(${atMs / 1000}::float8)`
    : sql`'-infinity'::timestamptz`;

/** How many calls a source allows. Infinity: no limit. */
export interface CallRates {
  perSecond: number;
  perMinute: number;
}

/**
 * How much of its rates a base address has used. Times in milliseconds since
 * the epoch; -Infinity: nothing yet.
 */
export interface CallBudget {
  /**
   * When the calls made so far have used up their share, at the rate per second
   * and at the rate per minute.
   */
  secondUsedUntil: number;
  minuteUsedUntil: number;
  /** No call before this time: the source said so. */
  blockedUntil: number;
}

/**
 * This part of a rate may be used at once; the rest is spread evenly, so that
 * no window of that length exceeds the rate.
 */
const AT_ONCE = 0.2;

/**
 * Number of calls that may be made at once; a worker takes at most this many
 * permits together.
 */
export function callsAtOnce({ perSecond, perMinute }: CallRates): number {
  const rate = Math.min(perSecond, perMinute);
  return Number.isFinite(rate) ? Math.max(1, Math.floor(rate * AT_ONCE)) : 100;
}

/**
 * Takes `calls` from the budget (generic cell rate algorithm). Returns when
 * they may be made, and the budget after them. Sources that share a base
 * address share its budget, each at its own rates.
 */
export function takeCalls(
  budget: CallBudget,
  rates: CallRates,
  calls: number,
  now: number,
): { at: number; budget: CallBudget } {
  const second = spacing(rates.perSecond, 1_000);
  const minute = spacing(rates.perMinute, 60_000);
  // The calls per minute may come in bursts of AT_ONCE; the calls per second
  // only as they are taken.
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
      minuteUsedUntil:
        Math.max(budget.minuteUsedUntil, at) + calls * minute.everyMs,
    },
  };
}

/**
 * The time between two calls at the rate that remains beside what may be used
 * at once.
 */
function spacing(
  rate: number,
  windowMs: number,
): { everyMs: number; toleranceMs: number } {
  if (!Number.isFinite(rate)) return { everyMs: 0, toleranceMs: 0 };
  const atOnce = Math.floor(rate * AT_ONCE);
  const everyMs = windowMs / (rate - atOnce);
  return { everyMs, toleranceMs: Math.max(0, atOnce - 1) * everyMs };
}

/**
 * A source's word about its rate blocks all calls to it; longer than this only
 * if it repeats it.
 */
const BLOCK_MAX_MS = 60_000;
const BLOCK_WITHOUT_WORD_MS = 1_000;

/**
 * For how long the source wants no further call, in milliseconds: Retry-After
 * of a 429, or the reset of a RateLimit header (of the drafts 3 to 10, or
 * `X-RateLimit-…`) with nothing remaining. 0 when it does not say so.
 */
export function blockOf(
  status: number,
  header: (name: string) => string | undefined,
  retryAfterMs: number | undefined,
  now: number,
): number {
  const stated =
    status === 429
      ? (retryAfterMs ?? resetMs(header, now) ?? BLOCK_WITHOUT_WORD_MS)
      : 0;
  const usedUp = remaining(header) === 0 ? (resetMs(header, now) ?? 0) : 0;
  return Math.min(Math.max(stated, usedUp, 0), BLOCK_MAX_MS);
}

function remaining(
  header: (name: string) => string | undefined,
): number | undefined {
  return numberOf(
    header('ratelimit-remaining') ??
      header('x-ratelimit-remaining') ??
      parameter(header('ratelimit'), ['r', 'remaining']),
  );
}

/**
 * Seconds from now; `X-RateLimit-Reset` is often a time in seconds since the
 * epoch instead.
 */
function resetMs(
  header: (name: string) => string | undefined,
  now: number,
): number | undefined {
  const seconds = numberOf(
    header('ratelimit-reset') ??
      header('x-ratelimit-reset') ??
      parameter(header('ratelimit'), ['t', 'reset']),
  );
  if (seconds === undefined) return undefined;
  return seconds > 1e9 ? seconds * 1_000 - now : seconds * 1_000;
}

/**
 * A parameter of `RateLimit: "default";r=0;t=5` or `RateLimit: limit=10,
 * remaining=0, reset=5`.
 */
function parameter(
  value: string | undefined,
  names: readonly string[],
): string | undefined {
  const found = (value ?? '')
    .slice(0, 500)
    .split(/[;,]/)
    .map((part) => part.trim().split('='))
    .find(([name = '']) => names.includes(name));
  return found?.[1];
}

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}(\.\d+)?$/.test(text.trim())
    ? Number(text)
    : undefined;
