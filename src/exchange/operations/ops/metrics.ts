import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { SOURCE_TYPES } from '../../../contract/source-types.ts';
import type { TaskQueueStats } from '../../../temporal/task-queues.ts';
import type { Store } from '../../platform/database/database.ts';
import table from './metrics.json' with { type: 'json' };
import {
  LATE_AFTER_SECONDS,
  type OperationsReport,
  readOperationsReport,
  SOURCE_OUTCOMES,
} from './report.ts';

/**
 * Scrapes within this time share one report: several Prometheus servers cost no
 * more than one.
 */
const SHARED_MS = 10_000;
/**
 * Less than a scrape waits: the other metrics of a gateway must be seen while
 * the database is slow.
 */
const READ_MS = 4_000;

interface Measured {
  report?: OperationsReport;
  queues?: TaskQueueStats[];
}

/**
 * Measures the state of the whole system whenever the metrics are collected:
 * the same report as `admin ops`. Every gateway shows the same values. Labels
 * are kinds, states, sources and queues, never ids. What cannot be read has no
 * values.
 */
export function measureOperations(
  metrics: Registry,
  deps: {
    store: Pick<Store, 'asSystem'>;
    readQueues?: () => Promise<TaskQueueStats[]>;
  },
): void {
  const read = shared(async (): Promise<Measured> => {
    const [report, queues] = await Promise.all([
      inTime(readOperationsReport(deps.store)),
      deps.readQueues === undefined ? undefined : inTime(deps.readQueues()),
    ]);
    return { report, queues };
  });
  for (const [name, valuesOf] of Object.entries(VALUES)) {
    const { help, labelNames }: { help: string; labelNames: string[] } =
      table[name as keyof typeof table];
    new Gauge({
      name,
      help,
      labelNames,
      registers: [metrics],
      async collect() {
        const measured = await read();
        this.reset();
        // Without labels, `reset` shows a 0, which would be wrong when nothing
        // is known.
        if (labelNames.length === 0) this.remove();
        for (const { labels, value } of valuesOf(measured))
          this.set(labels, value);
      },
    });
  }
}

const inTime = <T>(reading: Promise<T>): Promise<T | undefined> =>
  Promise.race([
    reading.catch(() => undefined),
    delay(READ_MS, undefined, { ref: false }),
  ]);

function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { at: number; value: Promise<T> } | undefined;
  return () => {
    if (last === undefined || Date.now() - last.at > SHARED_MS)
      last = { at: Date.now(), value: read() };
    return last.value;
  };
}

interface Value {
  labels: Record<string, string>;
  value: number;
}

const ofReport =
  (values: (report: OperationsReport) => Value[]) =>
  ({ report }: Measured): Value[] =>
    report === undefined ? [] : values(report);
const ofWork = (pick: (work: OperationsReport['work'][number]) => number) =>
  ofReport(({ work }) =>
    work.map((each) => ({ labels: { kind: each.kind }, value: pick(each) })),
  );
const ofQueues =
  (pick: (queue: TaskQueueStats) => number) =>
  ({ queues = [] }: Measured): Value[] =>
    queues.map((each) => ({
      labels: { queue: each.queue, type: each.type },
      value: pick(each),
    }));
const one = (pick: (report: OperationsReport) => number) =>
  ofReport((report) => [{ labels: {}, value: pick(report) }]);

/** What each gauge of `metrics.json` shows. */
const VALUES: Readonly<
  Record<keyof typeof table, (measured: Measured) => Value[]>
> = {
  open_work: ofWork(({ open }) => open),
  open_work_oldest_seconds: ofWork(({ oldestSeconds }) => oldestSeconds),
  open_work_late_after_seconds: () =>
    Object.entries(LATE_AFTER_SECONDS).map(([kind, value]) => ({
      labels: { kind },
      value,
    })),
  open_work_not_started: ofWork(({ notStarted }) => notStarted),
  query_sources_last_hour: ofReport(({ sources, outcomes }) =>
    kindsOf(sources).flatMap((source) =>
      SOURCE_OUTCOMES.map((outcome) => ({
        labels: { source, outcome },
        value:
          outcomes.find(
            (each) => each.source === source && each.outcome === outcome,
          )?.queries ?? 0,
      })),
    ),
  ),
  queries_failed_last_day: ofReport(({ sources, failed }) =>
    kindsOf(sources).flatMap((source) =>
      (['failed', 'refused'] as const).map((state) => ({
        labels: { source, state },
        value: sumOf(
          failed.filter(
            (each) => each.source === source && each.state === state,
          ),
          ({ queries }) => queries,
        ),
      })),
    ),
  ),
  account_connections_not_called: ofReport(({ sources }) =>
    (['open', 'paused'] as const).map((state) => ({
      labels: { state },
      value: sources.filter(
        (each) => !isKind(each.source) && each.state === state,
      ).length,
    })),
  ),
  webhook_destinations: ofReport(({ destinations }) =>
    Object.entries(destinations).map(([state, value]) => ({
      labels: { state },
      value,
    })),
  ),
  webhook_lag_seconds: one(({ troubledDestinations }) =>
    Math.max(0, ...troubledDestinations.map(({ lagSeconds }) => lagSeconds)),
  ),
  webhooks_undeliverable: ofReport(({ undeliverable }) =>
    (['dead', 'unrouted'] as const).map((state) => ({
      labels: { state },
      value: sumOf(
        undeliverable.filter((each) => each.state === state),
        ({ events }) => events,
      ),
    })),
  ),
  messages_unmatched_last_day: one(
    ({ unmatchedMessages }) => unmatchedMessages,
  ),
  work_suspected: one(({ suspectedWork }) => suspectedWork),
  task_queue_backlog: ofQueues(({ backlog }) => backlog),
  task_queue_backlog_seconds: ofQueues(({ backlogSeconds }) => backlogSeconds),
  task_queue_pollers: ofQueues(({ pollers }) => pollers),
};

/**
 * Other entries are connections of accounts, whose ids must not become label
 * values.
 */
const isKind = (source: string): boolean =>
  SOURCE_TYPES.some((kind) => kind === source);
const kindsOf = (sources: OperationsReport['sources']): string[] =>
  sources.map(({ source }) => source).filter(isKind);
const sumOf = <T>(items: readonly T[], numberOf: (item: T) => number): number =>
  items.reduce((sum, item) => sum + numberOf(item), 0);
