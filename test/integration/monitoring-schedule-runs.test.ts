import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client,
  MONTHS,
  type ScheduleHandle,
  ScheduleOverlapPolicy,
  type ScheduleSpec,
} from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  MONITORING_FREQUENCIES,
  type MonitoringFrequency,
} from '../../src/contract/cohort-monitoring.ts';
import { SEARCH_ATTRIBUTES, TASK_QUEUES } from '../../src/contract/temporal.ts';
import { monitoringSchedule } from '../../src/shared/monitoring/monitoring-schedule.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import {
  type RunningTemporalServer,
  startTemporalServer,
} from '../../tools/embedded/temporal-server.ts';
import { startMonitoringWorker } from '../support/monitoring-worker.ts';
import { testKeyRing } from '../support/test-keys.ts';

// A server of its own, which is stopped and started again on the same file. The
// workflow that is started is a stand-in.

/**
 * A server that goes may have had a task of the schedule in hand, which is then
 * given out again after a time-out.
 */
const WAIT = { timeout: 240_000 };
const ACCOUNT = '01900000-0000-7000-8000-0000000000aa';

let dataDir: string;
let server: RunningTemporalServer;
let client: Client;
let number = 0;
/** Acts each second, but its first run never ends. */
let stuck: ScheduleHandle;
const skippedByStuck = async () =>
  (await stuck.describe()).info.numActionsSkippedOverlap;

const start = async (options: { port?: number } = {}) => {
  server = await startTemporalServer({
    dataDir,
    searchAttributes: SEARCH_ATTRIBUTES,
    ...options,
  });
};

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'exchange-schedules-'));
  await start();
  client = new Client({
    connection: await openConnection({ address: server.address }),
    dataConverter: createDataConverter(testKeyRing()),
  });
  const spec = { intervals: [{ every: '1 second' as const }] };
  stuck = await create('weekly', { spec, taskQueue: 'nobody' });
});
afterAll(async () => {
  await client.connection.close();
  await server.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/**
 * A schedule as the exchange makes it, with other times if wanted, or without a
 * worker.
 */
async function create(
  frequency: MonitoringFrequency,
  {
    spec,
    taskQueue = TASK_QUEUES.orchestrator,
  }: { spec?: ScheduleSpec; taskQueue?: string } = {},
) {
  const schedule = monitoringSchedule({
    cohortId: `01900000-0000-7000-8000-${String(++number).padStart(12, '0')}`,
    kind: 'pharmacy',
    frequency,
    hours: { timeZone: 'America/New_York', fromHour: 1, toHour: 5 },
    networkQueriesPerMinute: 120,
    credentialRef: `account/${ACCOUNT}`,
    accountId: ACCOUNT,
  });
  return client.schedule.create({
    ...schedule,
    scheduleId: schedule.action.workflowId,
    spec: spec ?? schedule.spec,
    action: { ...schedule.action, taskQueue },
  });
}

/** Runs of a schedule, in the order of their nominal times. */
async function runsOf(scheduleId: string) {
  const runs = [];
  const query = `TemporalScheduledById = "${scheduleId}"`;
  for await (const {
    workflowId,
    status,
    startTime,
    closeTime,
  } of client.workflow.list({ query }))
    runs.push({ workflowId, status: status.name, startTime, closeTime });
  return runs.sort((a, b) => a.workflowId.localeCompare(b.workflowId));
}

describe('runs', () => {
  let stopWorker: () => Promise<void>;
  beforeAll(async () => {
    stopWorker = await startMonitoringWorker(server.address);
  });
  afterAll(() => stopWorker());

  test('by trigger: one run, of the account, at the priority of monitoring', async () => {
    const handle = await create('weekly');
    await handle.trigger(ScheduleOverlapPolicy.SKIP);
    await expect
      .poll(async () => (await handle.describe()).info.recentActions, WAIT)
      .toHaveLength(1);
    const [run] = (await handle.describe()).info.recentActions;
    const workflow = client.workflow.getHandle(
      run?.action.workflow.workflowId ?? '',
    );
    expect(await workflow.result()).toMatchObject({
      kind: 'pharmacy',
      notes: ['weekly'],
    });
    expect(workflow.workflowId).toMatch(
      new RegExp(
        `^${handle.scheduleId}-\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$`,
      ),
    );
    expect(await workflow.describe()).toMatchObject({
      searchAttributes: { AccountId: [ACCOUNT] },
      priority: { priorityKey: 4, fairnessKey: ACCOUNT },
    });
  });

  test('by backfill over half a year: every missed one, one after the other', async () => {
    const from = new Date('2026-01-01T12:00:00Z');
    const to = new Date('2026-07-02T12:00:00Z');
    const runs = await Promise.all(
      MONITORING_FREQUENCIES.map(async (frequency) => {
        const handle = await create(frequency);
        await handle.backfill({
          start: from,
          end: to,
          overlap: ScheduleOverlapPolicy.BUFFER_ALL,
        });
        const expected = { weekly: 26, biweekly: 13, monthly: 6 }[frequency];
        await expect
          .poll(
            async () =>
              (await runsOf(handle.scheduleId)).filter(
                (run) => run.status === 'COMPLETED',
              ).length,
            {
              ...WAIT,
            },
          )
          .toBe(expected);
        const { info } = await handle.describe();
        expect(info).toMatchObject({
          numActionsTaken: expected,
          numActionsSkippedOverlap: 0,
        });
        return runsOf(handle.scheduleId);
      }),
    );
    for (const ofOne of runs)
      for (const [index, { startTime }] of ofOne.entries())
        expect(startTime.getTime()).toBeGreaterThanOrEqual(
          ofOne[index - 1]?.closeTime?.getTime() ?? 0,
        );
  });
});

test('what was missed while the server was down is made up for, once; a run that is on is not doubled', async () => {
  const due = new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 4_000);
  const dueOnce = await create('weekly', {
    spec: { calendars: [onceAt(due)] },
    taskQueue: 'nobody',
  });
  await expect.poll(skippedByStuck, WAIT).toBeGreaterThan(0);
  expect((await dueOnce.describe()).info).toMatchObject({
    nextActionTimes: [due],
    numActionsTaken: 0,
  });
  await server.stop();
  const deadAt = Date.now();
  await new Promise((resolve) =>
    setTimeout(resolve, due.getTime() + 200 - deadAt),
  );
  const backAt = Date.now();
  await start({ port: server.port });
  expect(deadAt).toBeLessThan(due.getTime());

  await expect
    .poll(async () => (await dueOnce.describe()).info.numActionsTaken, WAIT)
    .toBe(1);
  const { info } = await dueOnce.describe();
  expect(info).toMatchObject({
    numActionsMissedCatchupWindow: 0,
    numActionsSkippedOverlap: 0,
  });
  expect(info.nextActionTimes).toEqual([]);
  const [made] = info.recentActions;
  expect(made?.scheduledAt).toEqual(due);
  expect(made?.takenAt.getTime()).toBeGreaterThanOrEqual(backAt);
  expect(made?.action.workflow.workflowId).toContain(
    due.toISOString().replace('.000', ''),
  );

  const skipped = await skippedByStuck();
  await expect.poll(skippedByStuck, WAIT).toBeGreaterThan(skipped);
  expect((await stuck.describe()).info.numActionsTaken).toBe(1);
});

/** In UTC. */
const onceAt = (time: Date) => ({
  year: time.getUTCFullYear(),
  month: MONTHS[time.getUTCMonth()],
  dayOfMonth: time.getUTCDate(),
  hour: time.getUTCHours(),
  minute: time.getUTCMinutes(),
  second: time.getUTCSeconds(),
});
