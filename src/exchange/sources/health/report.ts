import { Gauge, type Registry } from 'prom-client';
import { SOURCE_TYPES, type SourceType } from '../../../contract/primitives.ts';
import type { Store, SystemTx } from '../../platform/database/database.ts';
import { newConnection } from './rules/breaker.ts';
import {
  countWaiting,
  readConnections,
  type WaitingQueries,
} from './source-health.ts';

/** The state of a connection as operators see it. Contains no personal data. */
export interface SourceReport {
  source: string;
  /**
   * `failing`: the newest calls failed, of too few queries to stop calling.
   * `open`: it refuses or fails every call, and only probes are made. `paused`:
   * by an operator.
   */
  state: 'ok' | 'failing' | 'open' | 'paused';
  reason?: string;
  /**
   * When it was paused, when its breaker opened, or since when the calls of a
   * query fail.
   */
  since?: string;
  /** Who has paused it. */
  by?: string;
  nextProbeAt?: string;
  /** Queries that wait before they call it again. */
  waitingQueries: number;
}

export interface PublicSourceState {
  source: SourceType;
  /** A source of which some calls fail is called. */
  state: Exclude<SourceReport['state'], 'failing'>;
}

/** What may be known without a login: which of the networks are called. */
export async function publicSourceStates(
  tx: SystemTx,
): Promise<PublicSourceState[]> {
  const states = await readConnections(tx);
  return SOURCE_TYPES.map((source) => ({
    source,
    state: reportedState(states.get(source) ?? newConnection(source)),
  }));
}

const reportedState = ({
  paused,
  openedAt,
}: ReturnType<typeof newConnection>): PublicSourceState['state'] =>
  paused !== undefined ? 'paused' : openedAt !== undefined ? 'open' : 'ok';

/** The state of every source, also of those that nothing is known against. */
export async function reportSources(tx: SystemTx): Promise<SourceReport[]> {
  const states = await readConnections(tx);
  const waiting: ReadonlyMap<string, WaitingQueries> = await countWaiting(tx);
  const names = [...new Set<string>([...SOURCE_TYPES, ...states.keys()])];
  return names.map((source) => {
    const { paused, openedAt, nextProbeAt, reason, failing } =
      states.get(source) ?? newConnection(source);
    const { queries: waitingQueries = 0, failingSince } =
      waiting.get(source) ?? {};
    if (paused !== undefined)
      return {
        source,
        state: 'paused',
        reason: paused.reason,
        by: paused.by,
        since: instant(paused.at),
        waitingQueries,
      };
    if (openedAt === undefined)
      return failing.length === 0
        ? { source, state: 'ok', waitingQueries }
        : {
            source,
            state: 'failing',
            reason,
            since: failingSince?.toISOString(),
            waitingQueries,
          };
    return {
      source,
      state: 'open',
      reason,
      since: instant(openedAt),
      nextProbeAt: nextProbeAt === undefined ? undefined : instant(nextProbeAt),
      waitingQueries,
    };
  });
}

const instant = (at: number): string => new Date(at).toISOString();

const STATES = ['ok', 'failing', 'open', 'paused'] as const;

/**
 * Measures the state of all sources whenever the metrics are collected. Without
 * the database there are no values. Connections of accounts are counted
 * elsewhere (operations/ops/metrics.ts): their ids must not become label
 * values.
 */
export function measureSources(
  metrics: Registry,
  store: Pick<Store, 'asSystem'>,
): void {
  const read = async () => {
    const reports = await store.asSystem(reportSources).catch(() => []);
    return reports.filter(({ source }) =>
      SOURCE_TYPES.some((kind) => kind === source),
    );
  };
  new Gauge({
    name: 'source_state',
    help: 'State of each source: 1 for the one it is in (ok, failing, open or paused), 0 for the others',
    labelNames: ['source', 'state'] as const,
    registers: [metrics],
    async collect() {
      const reports = await read();
      this.reset();
      for (const { source, state } of reports)
        for (const each of STATES)
          this.set({ source, state: each }, each === state ? 1 : 0);
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
      for (const { source, waitingQueries } of reports)
        this.set({ source }, waitingQueries);
    },
  });
}
