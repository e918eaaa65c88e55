import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { findPromtool } from '../../support/promtool.ts';
import { makeTestFolder } from '../../support/test-folder.ts';

const ALERTS = fileURLToPath(
  new URL('../../../deploy/observability/alerts.yml', import.meta.url),
);
const RULES = (
  parse(await readFile(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] }
).groups.flatMap(({ rules }) => rules);

interface Rule {
  alert: string;
  labels: Record<string, string>;
  annotations: { runbook: string };
}
/**
 * Values by series, in promtool's notation (start+step x count); undefined: the
 * series is not there.
 */
type Series = Readonly<Record<string, string | undefined>>;
interface Cause {
  series: Series;
  labels?: Record<string, string>;
  summary: string;
}

const http = (status: string) =>
  `http_request_duration_seconds_count{operation="getPatient",status="${status}"}`;
const httpBucket = (le: string) =>
  `http_request_duration_seconds_bucket{operation="getPatient",status="200",le="${le}"}`;
const waitBucket = (le: string) =>
  `database_connection_wait_seconds_bucket{process="gateway",le="${le}"}`;
const pollers = (queue: string) =>
  `task_queue_pollers{queue="${queue}",type="workflow"}`;
const work = (what: string) =>
  `open_work${what}{kind="network query",process="gateway"}`;
const outcome = (name: string) =>
  `query_sources_last_hour{source="lab",outcome="${name}"}`;
const BACKLOG = 'task_queue_backlog_seconds{queue="exchange",type="workflow"}';
const RECONCILED =
  'reconcile_oldest_seconds{kind="network queries",process="worker"}';
const MISSING_BLOBS = 'reconcile_found_total{kind="missing blobs"}';
const FAILED = 'reconcile_failed_total{kind="erasures"}';

/**
 * A system with load, one failure in a hundred, and one account that sends far
 * more than its share.
 */
const HEALTHY: Series = {
  'up{job="gateway",instance="g1"}': '1x100',
  'up{job="worker",instance="w1"}': '1x100',
  [work('')]: '25x100',
  [work('_oldest_seconds')]: '600x100',
  [work('_late_after_seconds')]: '3600x100',
  [work('_not_started')]: '0x100',
  [pollers('exchange')]: '2x100',
  [pollers('orchestrator')]: '0x100',
  [BACKLOG]: '3x100',
  [http('200')]: '0+300x100',
  [http('500')]: '0+3x100',
  [http('503')]: '0+600x100',
  [httpBucket('0.1')]: '0+290x100',
  [httpBucket('5')]: '0+300x100',
  [httpBucket('+Inf')]: '0+300x100',
  'requests_shed_total{reason="account"}': '0+600x100',
  'requests_shed_total{reason="gateway"}': '0x100',
  'authentication_failures_total{reason="unknown"}': '0+3x100',
  [waitBucket('0.1')]: '0+300x100',
  [waitBucket('5')]: '0+300x100',
  [waitBucket('+Inf')]: '0+300x100',
  [RECONCILED]: '0x100',
  'reconcile_found_total{kind="network queries"}': '0+1x100',
  [MISSING_BLOBS]: '0x100',
  [FAILED]: '0x100',
  work_suspected: '0x100',
  'source_state{source="lab",state="ok"}': '1x100',
  'source_state{source="lab",state="open"}': '0x100',
  [outcome('completed')]: '90x100',
  [outcome('failed')]: '30x100',
  webhook_lag_seconds: '0x100',
  'webhooks_undeliverable{state="dead"}': '0x100',
  'webhooks_undeliverable{state="unrouted"}': '3x100',
  messages_unmatched_last_day: '20x100',
};

/** By alert: what a system that was healthy reports once its cause is there. */
const CAUSES: Readonly<Record<string, Cause>> = {
  ProcessDown: {
    series: { 'up{job="worker",instance="w1"}': '0x100' },
    labels: { job: 'worker', instance: 'w1' },
    summary: 'A worker does not answer at w1',
  },
  DatabaseUnseen: {
    series: { [work('')]: undefined },
    summary: 'No gateway can read the state of the system from PostgreSQL',
  },
  TemporalUnseen: {
    series: {
      [pollers('exchange')]: undefined,
      [pollers('orchestrator')]: undefined,
    },
    summary: 'No gateway can read the task queues from Temporal',
  },
  RequestsFail: {
    series: { [http('500')]: '0+30x100' },
    summary:
      'More than 2 % of the requests end with a 5xx status, without those that were shed',
  },
  RequestsShed: {
    series: {
      'requests_shed_total{reason="gateway"}': '0+120x100',
      [http('503')]: '0+720x100',
    },
    summary:
      'Gateways are overloaded: they refuse 2 requests per second with 503',
  },
  RequestsSlow: {
    series: { [httpBucket('0.1')]: '0+200x100' },
    summary: 'One request in twenty takes longer than 2.5 s',
  },
  ConnectionsWait: {
    series: { [waitBucket('0.1')]: '0+200x100' },
    labels: { process: 'gateway' },
    summary:
      'One transaction in a hundred of a gateway waits longer than 1 s for a connection to PostgreSQL',
  },
  AuthenticationFailures: {
    series: { 'authentication_failures_total{reason="unknown"}': '0+120x100' },
    summary: 'More than one request per second is rejected with 401',
  },
  NoWorker: {
    series: { [pollers('exchange')]: '0x100' },
    labels: { queue: 'exchange', type: 'workflow' },
    summary: 'No worker polls the task queue exchange (workflow tasks)',
  },
  TasksWait: {
    series: { [BACKLOG]: '300x100' },
    labels: { queue: 'exchange', type: 'workflow' },
    summary: 'Tasks of exchange (workflow) wait 5m 0s for a worker',
  },
  WorkNotStarted: {
    series: { [work('_not_started')]: '2x100' },
    labels: { kind: 'network query' },
    summary: 'Accepted work without a workflow (network query): 2',
  },
  WorkLate: {
    series: { [work('_oldest_seconds')]: '7200x100' },
    labels: { kind: 'network query' },
    summary: 'The oldest network query is open for 2h 0m 0s',
  },
  WorkSuspected: {
    series: { work_suspected: '1x100' },
    summary: 'Steps at which processes ended three times or more: 1',
  },
  ReconcileSilent: {
    series: { [RECONCILED]: undefined },
    summary: 'No worker has made a round of reconcile within the last minutes',
  },
  ReconcileFails: {
    series: { [FAILED]: '0+1x100' },
    labels: { kind: 'erasures' },
    summary: 'Reconcile cannot complete erasures',
  },
  BlobsMissing: {
    series: { [MISSING_BLOBS]: '0x40 3x60' },
    summary:
      'Blobs that rows refer to are missing: their documents or results cannot be read',
  },
  SourceRefuses: {
    series: { 'source_state{source="lab",state="open"}': '1x100' },
    labels: { source: 'lab' },
    summary: 'The source lab fails or refuses calls',
  },
  SourceFailsQueries: {
    series: { [outcome('failed')]: '95x100' },
    labels: { source: 'lab' },
    summary: 'More queries of the last hour failed at lab than completed',
  },
  WebhooksLate: {
    series: { webhook_lag_seconds: '900x100' },
    summary: 'The oldest webhook waits for 15m 0s',
  },
  WebhooksDeadLettered: {
    series: { 'webhooks_undeliverable{state="dead"}': '4x100' },
    summary: 'Webhooks of the last week that are dead-lettered: 4',
  },
  MessagesUnmatched: {
    series: { messages_unmatched_last_day: '500x100' },
    summary: 'Messages of the last day that match no patient: 500',
  },
};

const seriesOf = (series: Series) =>
  Object.entries(series).flatMap(([name, values]) =>
    values === undefined ? [] : [{ series: name, values }],
  );

/**
 * After 90 minutes: every alert is asked for, so that one that fires without
 * its cause is found too.
 */
const promtoolTest = (
  name: string,
  series: Series,
  expected: Readonly<Record<string, Cause>>,
) => ({
  name,
  interval: '1m',
  input_series: seriesOf({ ...HEALTHY, ...series }),
  alert_rule_test: RULES.map((rule) => {
    const cause = expected[rule.alert];
    const exp_alerts =
      cause === undefined
        ? []
        : [
            {
              exp_labels: { ...rule.labels, ...cause.labels },
              exp_annotations: {
                summary: cause.summary,
                runbook: rule.annotations.runbook,
              },
            },
          ];
    return { alertname: rule.alert, eval_time: '90m', exp_alerts };
  }),
});

async function promtool(
  path: string,
  tests: readonly unknown[],
): Promise<{ exitCode: number; out: string }> {
  const file = join(await makeTestFolder(), 'alerts.test.yml');
  // YAML is a superset of JSON.
  await writeFile(
    file,
    JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }),
  );
  return new Promise((resolve) => {
    execFile(path, ['test', 'rules', file], (error, stdout, stderr) =>
      resolve({
        exitCode: error === null ? 0 : Number(error.code),
        out: `${stdout}${stderr}`,
      }),
    );
  });
}

const found = await findPromtool();
const path = 'path' in found ? found.path : '';
const reason = 'missing' in found ? ` (skipped: ${found.missing})` : '';

test.skipIf(path === '')(
  `a healthy system fires no alert, and each cause fires its alert alone${reason}`,
  async () => {
    expect(Object.keys(CAUSES).toSorted()).toEqual(
      RULES.map(({ alert }) => alert).toSorted(),
    );
    const tests = Object.entries(CAUSES).map(([alert, cause]) =>
      promtoolTest(alert, cause.series, { [alert]: cause }),
    );
    const run = await promtool(path, [
      promtoolTest('healthy', {}, {}),
      ...tests,
    ]);
    expect(run).toEqual({
      exitCode: 0,
      out: expect.stringContaining('SUCCESS'),
    });
  },
);

test.skipIf(path === '')(
  `an alert that does not fire is found${reason}`,
  async () => {
    const cause = CAUSES.WorkLate as Cause;
    const run = await promtool(path, [
      promtoolTest('healthy, said to be late', {}, { WorkLate: cause }),
    ]);
    expect(run).toMatchObject({ exitCode: 1 });
    expect(run.out).toContain('alertname: WorkLate');
  },
);
