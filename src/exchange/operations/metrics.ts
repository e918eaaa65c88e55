import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { SOURCE_TYPES } from '../../contract/source-types.ts';
import type { Store } from '../platform/database/database.ts';
import { LATE_AFTER_SECONDS } from './late-after.ts';
import { readOperationsReport } from './read-report.ts';
import { type OperationsReport, type QueueReport, SOURCE_OUTCOMES } from './report.ts';

/** Scrapes within this time share one report: several Prometheus servers cost no more than one. */
const SHARED_MS = 10_000;
/** Less than a scrape waits: the other metrics of a gateway must be seen while the database is slow. */
const READ_MS = 4_000;

interface Measured {
  report?: OperationsReport;
  queues?: QueueReport[];
}

/**
 * Measures the state of the whole system whenever the metrics are collected: the same report as `starter ops`. Every gateway
 * shows the same values. Labels are kinds, states, sources and queues, never ids. What cannot be read has no values.
 */
export function measureOperations(
  metrics: Registry,
  deps: { store: Pick<Store, 'asSystem'>; readQueues?: () => Promise<QueueReport[]> },
): void {
  const read = shared(async (): Promise<Measured> => {
    const [report, queues] = await Promise.all([
      inTime(readOperationsReport(deps.store)),
      deps.readQueues === undefined ? undefined : inTime(deps.readQueues()),
    ]);
    return { report, queues };
  });
  for (const { name, help, labelNames, valuesOf } of GAUGES)
    new Gauge({
      name,
      help,
      labelNames,
      registers: [metrics],
      async collect() {
        const measured = await read();
        this.reset();
        // Without labels, `reset` shows a 0, which would be wrong when nothing is known.
        if (labelNames.length === 0) this.remove();
        for (const { labels, value } of valuesOf(measured)) this.set(labels, value);
      },
    });
}

const inTime = <T>(reading: Promise<T>): Promise<T | undefined> =>
  Promise.race([reading.catch(() => undefined), delay(READ_MS, undefined, { ref: false })]);

function shared<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { at: number; value: Promise<T> } | undefined;
  return () => {
    if (last === undefined || Date.now() - last.at > SHARED_MS) last = { at: Date.now(), value: read() };
    return last.value;
  };
}

interface Value {
  labels: Record<string, string>;
  value: number;
}
interface Measure {
  name: string;
  help: string;
  labelNames: readonly string[];
  valuesOf(measured: Measured): Value[];
}

const ofReport =
  (values: (report: OperationsReport) => Value[]) =>
  ({ report }: Measured): Value[] =>
    report === undefined ? [] : values(report);
const ofWork = (pick: (work: OperationsReport['work'][number]) => number) =>
  ofReport(({ work }) => work.map((each) => ({ labels: { kind: each.kind }, value: pick(each) })));
const ofQueues =
  (pick: (queue: QueueReport) => number) =>
  ({ queues = [] }: Measured): Value[] =>
    queues.map((each) => ({ labels: { queue: each.queue, type: each.type }, value: pick(each) }));
const one = (pick: (report: OperationsReport) => number) =>
  ofReport((report) => [{ labels: {}, value: pick(report) }]);

const GAUGES: readonly Measure[] = [
  {
    name: 'open_work',
    help: 'Accepted work that is not done yet, by kind',
    labelNames: ['kind'],
    valuesOf: ofWork(({ open }) => open),
  },
  {
    name: 'open_work_oldest_seconds',
    help: 'Age of the oldest open work, by kind; 0 without open work',
    labelNames: ['kind'],
    valuesOf: ofWork(({ oldestSeconds }) => oldestSeconds),
  },
  {
    name: 'open_work_late_after_seconds',
    help: 'Age at which open work counts as late, by kind',
    labelNames: ['kind'],
    valuesOf: () => Object.entries(LATE_AFTER_SECONDS).map(([kind, value]) => ({ labels: { kind }, value })),
  },
  {
    name: 'open_work_not_started',
    help: 'Work that was accepted two minutes ago or earlier and has no workflow, by kind',
    labelNames: ['kind'],
    valuesOf: ofWork(({ notStarted }) => notStarted),
  },
  {
    name: 'query_sources_last_hour',
    help: 'Sources of the queries accepted in the last hour, by source and outcome so far',
    labelNames: ['source', 'outcome'],
    valuesOf: ofReport(({ sources, outcomes }) =>
      kindsOf(sources).flatMap((source) =>
        SOURCE_OUTCOMES.map((outcome) => ({
          labels: { source, outcome },
          value: outcomes.find((each) => each.source === source && each.outcome === outcome)?.queries ?? 0,
        })),
      ),
    ),
  },
  {
    name: 'queries_failed_last_day',
    help: 'Queries of the last day that failed at a source or were refused there, and were not retried; of the 20 accounts and sources with the most',
    labelNames: ['source', 'state'],
    valuesOf: ofReport(({ sources, failed }) =>
      kindsOf(sources).flatMap((source) =>
        (['failed', 'refused'] as const).map((state) => ({
          labels: { source, state },
          value: sumOf(
            failed.filter((each) => each.source === source && each.state === state),
            ({ queries }) => queries,
          ),
        })),
      ),
    ),
  },
  {
    name: 'account_connections_not_called',
    help: 'Connections of accounts that are not called, by state (open: the breaker; paused: by an operator)',
    labelNames: ['state'],
    valuesOf: ofReport(({ sources }) =>
      (['open', 'paused'] as const).map((state) => ({
        labels: { state },
        value: sources.filter((each) => !isKind(each.source) && each.state === state).length,
      })),
    ),
  },
  {
    name: 'webhook_destinations',
    help: 'Destinations of webhooks, by state',
    labelNames: ['state'],
    valuesOf: ofReport(({ destinations }) =>
      Object.entries(destinations).map(([state, value]) => ({ labels: { state }, value })),
    ),
  },
  {
    name: 'webhook_lag_seconds',
    help: 'Age of the oldest webhook that could have been sent by now, over all destinations; 0 if none is older than five minutes',
    labelNames: [],
    valuesOf: one(({ troubledDestinations }) =>
      Math.max(0, ...troubledDestinations.map(({ lagSeconds }) => lagSeconds)),
    ),
  },
  {
    name: 'webhooks_undeliverable',
    help: 'Webhooks of the last week that are dead-lettered or had no destination, by state; of the 20 accounts with the most',
    labelNames: ['state'],
    valuesOf: ofReport(({ undeliverable }) =>
      (['dead', 'unrouted'] as const).map((state) => ({
        labels: { state },
        value: sumOf(
          undeliverable.filter((each) => each.state === state),
          ({ events }) => events,
        ),
      })),
    ),
  },
  {
    name: 'messages_unmatched_last_day',
    help: 'Messages of senders in the last day for which no patient was found',
    labelNames: [],
    valuesOf: one(({ unmatchedMessages }) => unmatchedMessages),
  },
  {
    name: 'work_suspected',
    help: 'Steps in progress at which processes ended three times or more',
    labelNames: [],
    valuesOf: one(({ suspectedWork }) => suspectedWork),
  },
  {
    name: 'task_queue_backlog',
    help: 'Tasks that wait for a worker, by task queue and type, as Temporal estimates them',
    labelNames: ['queue', 'type'],
    valuesOf: ofQueues(({ backlog }) => backlog),
  },
  {
    name: 'task_queue_backlog_seconds',
    help: 'Age of the oldest task that waits for a worker, by task queue and type',
    labelNames: ['queue', 'type'],
    valuesOf: ofQueues(({ backlogSeconds }) => backlogSeconds),
  },
  {
    name: 'task_queue_pollers',
    help: 'Workers that polled a task queue within the last 90 s, by type',
    labelNames: ['queue', 'type'],
    valuesOf: ofQueues(({ pollers }) => pollers),
  },
];

/** Other entries are connections of accounts, whose ids must not become label values. */
const isKind = (source: string): boolean => SOURCE_TYPES.some((kind) => kind === source);
const kindsOf = (sources: OperationsReport['sources']): string[] =>
  sources.map(({ source }) => source).filter(isKind);
const sumOf = <T>(items: readonly T[], numberOf: (item: T) => number): number =>
  items.reduce((sum, item) => sum + numberOf(item), 0);
