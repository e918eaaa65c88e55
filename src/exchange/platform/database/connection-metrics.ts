import { Histogram, type Registry } from 'prom-client';
import type { Store } from './database.ts';

/** Measures how long the transactions of this process wait for a connection of its pool. */
export function measureConnections(metrics: Registry, store: Pick<Store, 'onConnection'>): void {
  const waits = new Histogram({
    name: 'database_connection_wait_seconds',
    help: 'Time for which transactions of this process waited for a connection to PostgreSQL',
    buckets: [0.001, 0.01, 0.1, 0.5, 1, 2.5, 5, 10],
    registers: [metrics],
  });
  store.onConnection((waitedMs) => waits.observe(waitedMs / 1_000));
}
