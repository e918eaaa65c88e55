import { setTimeout as delay } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';
import { SOURCE_TYPES } from '../../../contract/source-types.ts';
import type { TaskQueueStats } from '../../../temporal/task-queues.ts';
import type { Store } from '../../platform/database/database.ts';
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
  for (const [name, gauge] of Object.entries(GAUGES)) {
    new Gauge({
      name,
      help: gauge.help,
      labelNames: gauge.labelNames,
      registers: [metrics],
      async collect() {
        const measured = await read();
        this.reset();
        // Without labels, `reset` shows a 0, which would be wrong when nothing
        // is known.
        if (gauge.labelNames.length === 0) this.remove();
        for (const { labels, value } of gauge.read(measured))
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

interface Value<Label extends string> {
  labels: Readonly<Record<Label, string>>;
  value: number;
}

const ofReport =
  <Label extends string>(
    values: (report: OperationsReport) => Value<Label>[],
  ) =>
  ({ report }: Measured): Value<Label>[] =>
    report === undefined ? [] : values(report);
const ofWork = (pick: (work: OperationsReport['work'][number]) => number) =>
  ofReport(({ work }) =>
    work.map((each) => ({ labels: { kind: each.kind }, value: pick(each) })),
  );
const ofQueues =
  (pick: (queue: TaskQueueStats) => number) =>
  ({ queues = [] }: Measured): Value<'queue' | 'type'>[] =>
    queues.map((each) => ({
      labels: { queue: each.queue, type: each.type },
      value: pick(each),
    }));
const one = (pick: (report: OperationsReport) => number) =>
  ofReport((report) => [{ labels: {}, value: pick(report) }]);

interface OperationsGauge<Label extends string> {
  help: string;
  labelNames: readonly Label[];
  read(measured: Measured): Value<Label>[];
}

/** Each value has the labels that the gauge names. */
const gauge = <Label extends string>(
  described: OperationsGauge<Label>,
): OperationsGauge<string> => described;

/** The gauges, by name. */
const GAUGES: Readonly<Record<string, OperationsGauge<string>>> = {
  open_work: gauge({
    help: 'Accepted work that is not done yet, by kind',
    labelNames: ['kind'],
    read: ofWork(({ open }) => open),
  }),
  open_work_oldest_seconds: gauge({
    help: 'Age of the oldest open work, by kind; 0 without open work',
    labelNames: ['kind'],
    read: ofWork(({ oldestSeconds }) => oldestSeconds),
  }),
  open_work_late_after_seconds: gauge({
    help: 'Age at which open work counts as late, by kind',
    labelNames: ['kind'],
    read: () =>
      Object.entries(LATE_AFTER_SECONDS).map(([kind, value]) => ({
        labels: { kind },
        value,
      })),
  }),
  open_work_not_started: gauge({
    help: 'Work that was accepted two minutes ago or earlier and has no workflow, by kind',
    labelNames: ['kind'],
    read: ofWork(({ notStarted }) => notStarted),
  }),
  query_sources_last_hour: gauge({
    help: 'Sources of the queries accepted in the last hour, by source and outcome so far',
    labelNames: ['source', 'outcome'],
    read: ofReport(({ sources, outcomes }) =>
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
  }),
  queries_failed_last_day: gauge({
    help: 'Queries of the last day that failed at a source or were refused there, and were not retried; of the 20 accounts and sources with the most',
    labelNames: ['source', 'state'],
    read: ofReport(({ sources, failed }) =>
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
  }),
  account_connections_not_called: gauge({
    help: 'Connections of accounts that are not called, by state (open: the breaker; paused: by an operator)',
    labelNames: ['state'],
    read: ofReport(({ sources }) =>
      (['open', 'paused'] as const).map((state) => ({
        labels: { state },
        value: sources.filter(
          (each) => !isKind(each.source) && each.state === state,
        ).length,
      })),
    ),
  }),
  webhook_destinations: gauge({
    help: 'Destinations of webhooks, by state',
    labelNames: ['state'],
    read: ofReport(({ destinations }) =>
      Object.entries(destinations).map(([state, value]) => ({
        labels: { state },
        value,
      })),
    ),
  }),
  webhook_lag_seconds: gauge({
    help: 'Age of the oldest webhook that could have been sent by now, over all destinations; 0 if none is older than five minutes',
    labelNames: [],
    read: one(({ troubledDestinations }) =>
      Math.max(0, ...troubledDestinations.map(({ lagSeconds }) => lagSeconds)),
    ),
  }),
  webhooks_undeliverable: gauge({
    help: 'Webhooks of the last week that are dead-lettered or had no destination, by state; of the 20 accounts with the most',
    labelNames: ['state'],
    read: ofReport(({ undeliverable }) =>
      (['dead', 'unrouted'] as const).map((state) => ({
        labels: { state },
        value: sumOf(
          undeliverable.filter((each) => each.state === state),
          ({ events }) => events,
        ),
      })),
    ),
  }),
  messages_unmatched_last_day: gauge({
    help: 'Messages of senders in the last day for which no patient was found',
    labelNames: [],
    read: one(
      ({ unmatchedMessages, heldMessages }) => unmatchedMessages + heldMessages,
    ),
  }),
  work_suspected: gauge({
    help: 'Steps in progress at which processes ended three times or more',
    labelNames: [],
    read: one(({ suspectedWork }) => suspectedWork),
  }),
  task_queue_backlog: gauge({
    help: 'Tasks that wait for a worker, by task queue and type, as Temporal estimates them',
    labelNames: ['queue', 'type'],
    read: ofQueues(({ backlog }) => backlog),
  }),
  task_queue_backlog_seconds: gauge({
    help: 'Age of the oldest task that waits for a worker, by task queue and type',
    labelNames: ['queue', 'type'],
    read: ofQueues(({ backlogSeconds }) => backlogSeconds),
  }),
  task_queue_pollers: gauge({
    help: 'Workers that polled a task queue within the last 90 s, by type',
    labelNames: ['queue', 'type'],
    read: ofQueues(({ pollers }) => pollers),
  }),
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
