import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { WORK_KINDS } from '../../src/exchange/operations/ops/report.ts';
import { createReconcileMetrics } from '../../src/exchange/platform/recovery/reconciler.ts';
import { WORKER_QUEUES } from '../../src/temporal/task-queues.ts';
import { createTestGateway, type TestGateway } from '../support/gateway.ts';

interface Rule {
  alert: string;
  expr: string;
  labels: { severity: string };
  annotations: { summary: string; runbook: string };
}
interface Panel {
  title: string;
  targets: { expr: string }[];
}

const at = (path: string) =>
  fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string) => readFile(at(path), 'utf8');

const DASHBOARDS = await readdir(at('deploy/observability/dashboards'));
const RULES = (
  parse(await read('deploy/observability/alerts.yml')) as {
    groups: { rules: Rule[] }[];
  }
).groups.flatMap(({ rules }) => rules);
const PANELS = (
  await Promise.all(
    DASHBOARDS.map(
      async (name) =>
        JSON.parse(await read(`deploy/observability/dashboards/${name}`)) as {
          panels: Panel[];
        },
    ),
  )
).flatMap(({ panels }) => panels);
const PAGES = (await readdir(at('docs/operations'))).filter((name) =>
  name.endsWith('.md'),
);
const OPERATIONS = await read('docs/operations.md');
const TASKS = (
  await Promise.all(PAGES.map((name) => read(`docs/operations/${name}`)))
).join('\n');

/** Prometheus makes it itself, for each target. */
const OF_PROMETHEUS = ['up'];
/** Everything that gateways and workers report. */
let reported: { names: Set<string>; text: string };
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway({
    readQueues: async () =>
      WORKER_QUEUES.map((queue) => ({
        queue,
        type: 'activity',
        backlog: 0,
        backlogSeconds: 0,
        pollers: 1,
      })),
  });
  const worker = new Registry();
  createReconcileMetrics(worker).record('network queries', {
    found: 0,
    healed: 0,
    failed: 0,
  });
  const ofGateway = (
    await gateway.app.inject({ method: 'GET', url: '/metrics' })
  ).body;
  const text = `${ofGateway}\n${await worker.metrics()}`;
  reported = {
    text,
    names: new Set(
      [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name),
    ),
  };
});
afterAll(() => gateway.close());

/**
 * The metrics that an expression names: what is left without strings,
 * functions, keywords and lists of labels.
 */
function metricsOf(expr: string): string[] {
  const names = expr
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/g, ' ')
    .replaceAll(/\b(?:by|on|without|ignoring)\s*\([^)]*\)/g, ' ')
    .match(/\b[a-z_][a-z0-9_]*\b(?!\s*\()/gi);
  return (names ?? []).filter(
    (name) => !['and', 'or', 'unless', 'sum', 'max', 'by', 'on'].includes(name),
  );
}
const nameOfFamily = (name: string) =>
  name.replace(/_(?:bucket|count|sum)$/, '');
const isReported = (name: string) =>
  OF_PROMETHEUS.includes(name) ||
  reported.names.has(name) ||
  reported.names.has(nameOfFamily(name));

describe('alerts and dashboards', () => {
  const expressions = [
    ...RULES.map(({ alert, expr }) => ({ of: alert, expr })),
    ...PANELS.flatMap(({ title, targets }) =>
      targets.map(({ expr }) => ({ of: title, expr })),
    ),
  ];

  test.each(expressions)(
    '$of names only metrics that the processes report',
    ({ expr }) => {
      const names = metricsOf(expr);
      expect(names).not.toEqual([]);
      expect(names.filter((name) => !isReported(name))).toEqual([]);
    },
  );

  test.each(expressions)(
    '$of selects only states and outcomes that exist',
    ({ expr }) => {
      const selected = [
        ...expr.matchAll(/([a-z_]+)\{[^}]*?(state|outcome|queue)!?="([^"]+)"/g),
      ];
      for (const [, name = '', label = '', value = ''] of selected)
        expect(reported.text).toMatch(
          new RegExp(`^${name}\\{[^}]*${label}="${value}"`, 'm'),
        );
    },
  );

  test.each(RULES)(
    '$alert has its entry in the runbook',
    ({ alert, annotations }) => {
      expect(OPERATIONS).toContain(`\n- [${annotations.runbook}](operations/`);
      expect(`\n${TASKS}`).toMatch(
        new RegExp(`\\n##? ${annotations.runbook}\\n`),
      );
      expect(TASKS).toContain(`\`${alert}\``);
    },
  );

  test('the documentation names every metric of ours', () => {
    const own = [...reported.names].filter(
      (name) => !/^(?:process|nodejs)_/.test(name),
    );
    expect(own.filter((name) => !TASKS.includes(`\`${name}\``))).toEqual([]);
  });

  test('counters of refusals start at 0, so that the first one is an increase', () => {
    for (const labels of ['reason="unknown"', 'reason="signature"'])
      expect(reported.text).toMatch(
        new RegExp(
          `^authentication_failures_total\\{[^}]*${labels}[^}]*\\} 0$`,
          'm',
        ),
      );
    for (const labels of ['reason="account"', 'reason="gateway"'])
      expect(reported.text).toMatch(
        new RegExp(`^requests_shed_total\\{[^}]*${labels}[^}]*\\} 0$`, 'm'),
      );
  });

  test('each kind of open work has an age at which it is late', () => {
    for (const kind of WORK_KINDS)
      for (const name of [
        'open_work',
        'open_work_oldest_seconds',
        'open_work_late_after_seconds',
      ])
        expect(reported.text).toContain(`${name}{kind="${kind}"`);
  });
});
