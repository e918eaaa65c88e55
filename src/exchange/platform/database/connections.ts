import { sql } from 'kysely';
import { Histogram, type Registry } from 'prom-client';
import type { AccountTx, Store } from './database.ts';

/**
 * The name of the gateways' connections: a transaction on one of them is a
 * caller's.
 */
export const GATEWAY_CONNECTIONS = 'exchange-gateway';
/**
 * Shorter than a chunk of an import takes, so that single requests now and then
 * hardly slow it down.
 */
const RECENT_MS = 150;
const LOOKING_ON = 'commit /* looking on */';

/**
 * Says of a transaction that its caller only asks how background work stands,
 * which must not slow that work down.
 */
export const lookOn = ({ db }: AccountTx): void => db.commitAs(LOOKING_ON);

/**
 * Whether a gateway has used this database in the last moment, other than for
 * callers who only look on, by PostgreSQL's own view of its sessions.
 * Background work that can do with fewer processors asks before each of its
 * steps. False also where the gateways have another login.
 */
export async function areCallersServed(
  store: Pick<Store, 'call'>,
  recentMs = RECENT_MS,
): Promise<boolean> {
  const [row] = await store.call(sql<{ served: boolean }>`
    select exists (
      select from pg_stat_activity
      where application_name = ${GATEWAY_CONNECTIONS} and datname = current_database() and pid <> pg_backend_pid()
        and (state <> 'idle' or state_change > clock_timestamp() - make_interval(secs => ${recentMs / 1_000}))
        and query <> ${LOOKING_ON}
    ) as served`);
  return row?.served === true;
}

/**
 * Measures how long the transactions of this process wait for a connection of
 * its pool.
 */
export function measureConnections(
  metrics: Registry,
  store: Pick<Store, 'onConnection'>,
): void {
  const waits = new Histogram({
    name: 'database_connection_wait_seconds',
    help: 'Time for which transactions of this process waited for a connection to PostgreSQL',
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  });
  store.onConnection((waitedMs) => waits.observe(waitedMs / 1_000));
}
