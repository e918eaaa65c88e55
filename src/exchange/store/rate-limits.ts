import { sql } from 'kysely';
import type { AccountTx } from './database.ts';

export interface LimitAnswer {
  /** How many of the wanted points the limit still had. */
  granted: number;
  /** What the limit has left in this window, for everybody. */
  remaining: number;
  /** Until the window ends and the limit is fresh again. */
  resetMs: number;
}

/**
 * Takes up to `points` of a limit of the account, shared by all processes: a fixed window of `windowMs` by the
 * database's clock. Other takers of the same limit wait until the transaction ends, so keep it short.
 */
export async function takePoints(
  tx: AccountTx,
  name: string,
  wanted: { points: number; limit: number; windowMs: number },
): Promise<LimitAnswer> {
  const windowStart = sql<Date>`to_timestamp(floor(extract(epoch from now()) * 1000 / ${wanted.windowMs}) * ${wanted.windowMs} / 1000)`;
  const row = await tx.db
    .insertInto('rate_limit')
    .values({ account_id: tx.accountId, name, window_start: windowStart, taken: wanted.points })
    .onConflict((conflict) =>
      conflict.columns(['account_id', 'name']).doUpdateSet({
        taken: sql`case when rate_limit.window_start = excluded.window_start
                        then rate_limit.taken + excluded.taken else excluded.taken end`,
        window_start: sql`excluded.window_start`,
      }),
    )
    .returning([
      'taken',
      sql<number>`extract(epoch from window_start - now())::float8 * 1000 + ${wanted.windowMs}::float8`.as(
        'reset_ms',
      ),
    ])
    .executeTakeFirstOrThrow();
  const before = row.taken - wanted.points;
  return {
    granted: Math.max(0, Math.min(wanted.points, wanted.limit - before)),
    remaining: Math.max(0, wanted.limit - row.taken),
    resetMs: Math.max(1, Math.ceil(row.reset_ms)),
  };
}
