import { hostname } from 'node:os';
import { sql } from 'kysely';
import { ConfigError } from '../../../config.ts';
import type { Store, SystemTx } from './database.ts';
import { sqlFile } from './pg-arrays.ts';
import { isConnectionFault } from './postgres-errors.ts';

const WRONG_CLOCKS = sqlFile('wrong-clocks.sql', import.meta.url);

/**
 * Receivers refuse webhooks that are off by five minutes; rows of several
 * workers are put in order by seconds.
 */
const DIFFERENCE_MAX_MS = 30_000;

/**
 * Throws ConfigError if this machine's clock differs from PostgreSQL's by more
 * than 30 s, because the process would write times that others compare with
 * theirs. While the database cannot be reached, the clock is not checked.
 */
export async function checkClock(store: Pick<Store, 'call'>): Promise<void> {
  const sentAt = Date.now();
  const [row] = await store
    .call(sql<{ now: Date }>`select clock_timestamp() as now`)
    .catch((error: unknown) => {
      if (isConnectionFault(error)) return [];
      throw error;
    });
  if (row === undefined) return;
  const aheadMs = (sentAt + Date.now()) / 2 - row.now.getTime();
  const roundTripMs = Date.now() - sentAt;
  if (Math.abs(aheadMs) <= DIFFERENCE_MAX_MS + roundTripMs / 2) return;
  throw new ConfigError(
    `This machine's clock is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} ` +
      "PostgreSQL's: synchronise both with NTP, then start again",
  );
}

/**
 * Shows PostgreSQL this process's clock each minute, because it may go wrong
 * after the start. Returns what stops it.
 */
export function showClock(
  store: Pick<Store, 'asSystem'>,
  program: string,
  everyMs = 60_000,
): () => void {
  const process = `${program} on ${hostname()}`;
  const show = () =>
    store.asSystem((tx) =>
      // Those of an earlier rollout are removed after a day.
      sql`with gone as (
          delete from process_clock where seen_at < now() - interval '1 day' and process <> ${process})
        insert into process_clock (process, shown) values (${process}, ${new Date()})
        on conflict (process) do update set shown = excluded.shown, seen_at = clock_timestamp()`.execute(
        tx.db,
      ),
    );
  // While the database is away, nothing is recorded.
  const timer = setInterval(
    () => void show().catch(() => undefined),
    everyMs,
  ).unref();
  return () => clearInterval(timer);
}

/**
 * The clocks that are wrong now: `the clock of worker on host-3 is 42 s ahead
 * of PostgreSQL's`.
 */
export async function readWrongClocks(tx: SystemTx): Promise<string[]> {
  const { rows } = await WRONG_CLOCKS<{ what: string }>({
    most: DIFFERENCE_MAX_MS / 1_000,
  }).execute(tx.db);
  return rows.map(({ what }) => what);
}
