import { Gauge, type Registry } from 'prom-client';
import { SOURCE_TYPES } from '../../../contract/source-types.ts';
import type { Store } from '../../platform/database/database.ts';
import { reportSources } from './report.ts';

const STATES = ['ok', 'open', 'paused'] as const;

/**
 * Measures the state of all sources whenever the metrics are collected. Without the database there are no values. Connections
 * of accounts are counted elsewhere (operations/metrics.ts): their ids must not become label values.
 */
export function measureSources(metrics: Registry, store: Pick<Store, 'asSystem'>): void {
  const read = async () => {
    const reports = await store.asSystem(reportSources).catch(() => []);
    return reports.filter(({ source }) => SOURCE_TYPES.some((kind) => kind === source));
  };
  new Gauge({
    name: 'source_state',
    help: 'State of each source: 1 for the one it is in (ok, open or paused), 0 for the others',
    labelNames: ['source', 'state'] as const,
    registers: [metrics],
    async collect() {
      const reports = await read();
      this.reset();
      for (const { source, state } of reports)
        for (const each of STATES) this.set({ source, state: each }, each === state ? 1 : 0);
    },
  });
  new Gauge({
    name: 'source_waiting_queries',
    help: 'Queries that wait before they call the source again',
    labelNames: ['source'] as const,
    registers: [metrics],
    async collect() {
      const reports = await read();
      this.reset();
      for (const { source, waitingQueries } of reports) this.set({ source }, waitingQueries);
    },
  });
}
