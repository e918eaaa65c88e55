import { type RawBuilder, sql } from 'kysely';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { type CallRates, takeCalls } from './rules/call-budget.ts';

/** The budgets of base addresses, which all workers share. */
export interface CallBudgets {
  /** Takes calls to a base address. Returns in how many milliseconds they may be made. */
  take(target: string, rates: CallRates, calls: number): Promise<number>;
  /** Allows no further call for this time, in milliseconds. */
  block(target: string, forMs: number): Promise<void>;
}

/** Times are those of PostgreSQL, so that workers with different clocks agree. */
export const createCallBudgets = (store: Pick<Store, 'asSystem'>): CallBudgets => ({
  take: (target, rates, calls) =>
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
        where target = ${target}`.execute(tx.db);
      return taken.at - row.now_ms;
    }),
  block: (target, forMs) =>
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
  await sql`insert into source_budget (target) values (${target}) on conflict do nothing`.execute(tx.db);
  const { rows } = await sql<LockedBudget>`
    select ${milliseconds('second_used_until')} as second_ms, ${milliseconds('minute_used_until')} as minute_ms,
      ${milliseconds('blocked_until')} as blocked_ms,
      extract(epoch from clock_timestamp())::float8 * 1000 as now_ms
    from source_budget where target = ${target} for update`.execute(tx.db);
  const [row] = rows;
  if (row === undefined) throw new Error('a budget was deleted while it was locked');
  return row;
}

const milliseconds = (column: string): RawBuilder<number | null> =>
  sql`case when isfinite(${sql.ref(column)}) then extract(epoch from ${sql.ref(column)})::float8 * 1000 end`;

const instant = (atMs: number): RawBuilder<Date> =>
  Number.isFinite(atMs) ? sql`to_timestamp(${atMs / 1000}::float8)` : sql`'-infinity'::timestamptz`;
