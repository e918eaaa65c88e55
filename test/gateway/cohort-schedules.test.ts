import {
  type Client,
  type Connection,
  Client as TemporalClient,
} from '@temporalio/client';
import { sql } from 'kysely';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  test,
} from 'vitest';
import type {
  CohortMonitoringInput,
  MonitoringKind,
} from '../../src/contract/cohort-monitoring.ts';
import { cohortMonitoringWorkflowId } from '../../src/contract/temporal.ts';
import {
  type CohortSchedules,
  createCohortSchedules,
} from '../../src/exchange/people/monitoring/cohort-schedules.ts';
import type { AccountSettings } from '../../src/exchange/platform/account.ts';
import { takeAdminRole } from '../../src/exchange/platform/database/database.ts';
import {
  describeMonitoringSchedule,
  OFF_NOTE,
} from '../../src/shared/monitoring/monitoring-control.ts';
import { monitoringSchedule } from '../../src/shared/monitoring/monitoring-schedule.ts';
import { openConnection } from '../../src/temporal/connection.ts';
import { createDataConverter } from '../../src/temporal/data-converter.ts';
import {
  createTestGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { dumpTemporal } from '../support/scan-temporal.ts';
import { takeUp } from '../support/take-up.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { testKeyRing } from '../support/test-keys.ts';

// The gateway and a real Temporal server: what becomes of a cohort's schedules
// when its settings change.

let temporal: Client;
let connection: Connection;
let gateway: TestGateway;
let schedules: CohortSchedules;
let account: TestAccount;
const logLines: string[] = [];
const logger = pino(
  { level: 'debug' },
  { write: (line: string) => void logLines.push(line) },
);

beforeAll(async () => {
  connection = await openConnection({ address: inject('temporalAddress') });
  temporal = new TemporalClient({
    connection,
    namespace: await createTestNamespace(),
    dataConverter: createDataConverter(testKeyRing()),
  });
  gateway = await createTestGateway({
    cohortSchedules: {
      cohortChanged: (accountId, cohortId) =>
        schedules.cohortChanged(accountId, cohortId),
    },
  });
});
beforeEach(async () => {
  // Looks at everything in each round.
  schedules = createCohortSchedules(
    { store: gateway.store, temporal, logger },
    { checkAfterMs: -1 },
  );
  account = await gateway.addAccount();
});
afterAll(async () => {
  await gateway.close();
  await connection.close();
});

const WAIT = { timeout: 240_000 };
const MONITORED = {
  monitoring: { hie: { enabled: true, frequency: 'weekly' } },
};
let cohorts = 0;

async function createCohort(
  settings: object = MONITORED,
  name = `Cohort ${++cohorts}`,
): Promise<string> {
  const answer = await account.call('POST', 'cohort', { name, settings });
  expect(answer.statusCode).toBe(201);
  await schedules.drain();
  return answer.json().id;
}

async function change(cohortId: string, hie: object): Promise<void> {
  const answer = await account.call('PATCH', `cohort/${cohortId}`, {
    settings: { monitoring: { hie } },
  });
  expect(answer.statusCode).toBe(200);
  await schedules.drain();
}

const found = (cohortId: string, kind: MonitoringKind = 'hie') =>
  describeMonitoringSchedule(temporal, cohortId, kind);
const handleOf = (cohortId: string) =>
  temporal.schedule.getHandle(cohortMonitoringWorkflowId(cohortId, 'hie'));

async function inputOf(
  cohortId: string,
  kind: MonitoringKind = 'hie',
): Promise<CohortMonitoringInput> {
  const schedule = await found(cohortId, kind);
  return schedule?.action.args?.[0] as CohortMonitoringInput;
}

const changeAccount = (settings: AccountSettings) =>
  gateway.store.asSystem(async (tx) => {
    await takeAdminRole(tx);
    await tx.db
      .updateTable('account')
      .set({ settings: JSON.stringify(settings) })
      .where('id', '=', account.accountId)
      .execute();
  });

const reconcile = () => takeUp(schedules.recovery, 500);

describe('the schedules of a cohort', () => {
  test('are there for each monitoring that is on, and tell the workflow what it needs', async () => {
    const cohortId = await createCohort({
      monitoring: {
        hie: { enabled: true, frequency: 'biweekly' },
        pharmacy: { schedule: { enabled: true } },
        adt: { enabled: true },
      },
    });
    expect(await inputOf(cohortId)).toEqual({
      exchange: { credentialRef: `account/${account.accountId}` },
      cohortId,
      cohortName: `Cohort ${cohorts}`,
      kind: 'hie',
      frequency: 'biweekly',
      queriesPerMinute: 96,
      pace: {
        pageSize: 100,
        pagesPerRun: 200,
        requestsPerMinute: 400,
        shareOfRequests: 1 / 3,
      },
    });
    expect(await inputOf(cohortId, 'pharmacy')).toMatchObject({
      kind: 'pharmacy',
      frequency: 'monthly',
    });
    const hie = await found(cohortId);
    expect(hie).toMatchObject({
      searchAttributes: { AccountId: [account.accountId] },
      state: { paused: false },
      spec: { timezone: 'America/New_York' },
      action: {
        taskQueue: 'orchestrator',
        workflowId: `cohort-monitoring/${cohortId}/hie`,
        priority: { priorityKey: 4, fairnessKey: account.accountId },
      },
    });
    const none = await createCohort({ monitoring: { adt: { enabled: true } } });
    expect([await found(none), await found(none, 'pharmacy')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('name the cohort, also after it was renamed, and only to a client that holds the key', async () => {
    const cohortId = await createCohort(MONITORED, 'Opioid use, Springfield');
    const summary = async () => {
      const action = (await found(cohortId))?.action;
      return action?.staticSummary;
    };
    expect(await summary()).toBe(
      'Monitoring of cohort `Opioid use, Springfield`: hie, weekly',
    );
    const renamed = await account.call('PATCH', `cohort/${cohortId}`, {
      name: 'Opioid use, Shelbyville',
    });
    expect(renamed.statusCode).toBe(200);
    await schedules.drain();
    expect(await summary()).toBe(
      'Monitoring of cohort `Opioid use, Shelbyville`: hie, weekly',
    );
    const dump = await dumpTemporal(temporal);
    expect(dump).toContain(cohortId);
    expect(dump).not.toMatch(/Opioid|Springfield|Shelbyville/);
  });

  test('are changed in place: the run that is on goes on, and an operator’s pause stays', async () => {
    const cohortId = await createCohort();
    await handleOf(cohortId).trigger();
    const run = await expect
      .poll(
        async () =>
          (await found(cohortId))?.info.recentActions[0]?.action.workflow
            .workflowId,
        WAIT,
      )
      .toBeDefined()
      .then(
        async () =>
          (await found(cohortId))?.info.recentActions[0]?.action.workflow
            .workflowId ?? '',
      );
    await handleOf(cohortId).pause('Source is being moved');
    await change(cohortId, { frequency: 'monthly' });
    expect(await inputOf(cohortId)).toMatchObject({ frequency: 'monthly' });
    const schedule = await found(cohortId);
    expect(schedule?.state).toMatchObject({
      paused: true,
      note: 'Source is being moved',
    });
    expect(schedule?.info.recentActions).toHaveLength(1);
    expect(
      (await temporal.workflow.getHandle(run).describe()).status.name,
    ).toBe('RUNNING');
  });

  test('are paused while the setting is off, and run again when it is on', async () => {
    const cohortId = await createCohort();
    await change(cohortId, { enabled: false });
    expect((await found(cohortId))?.state).toMatchObject({
      paused: true,
      note: OFF_NOTE,
    });
    await handleOf(cohortId).unpause('by mistake');
    await reconcile();
    expect((await found(cohortId))?.state).toMatchObject({
      paused: true,
      note: OFF_NOTE,
    });
    await change(cohortId, { enabled: true, frequency: 'biweekly' });
    expect((await found(cohortId))?.state.paused).toBe(false);
    expect(await inputOf(cohortId)).toMatchObject({ frequency: 'biweekly' });
  });

  test('stay paused when an operator paused them before the setting was off', async () => {
    const cohortId = await createCohort();
    await handleOf(cohortId).pause('Not this month');
    await change(cohortId, { enabled: false });
    await change(cohortId, { enabled: true });
    expect((await found(cohortId))?.state).toMatchObject({
      paused: true,
      note: 'Not this month',
    });
  });

  test('go with the cohort', async () => {
    const cohortId = await createCohort();
    expect(
      (await account.call('DELETE', `cohort/${cohortId}`)).statusCode,
    ).toBe(204);
    await schedules.drain();
    expect(await found(cohortId)).toBeUndefined();
    expect(await rowsOf(cohortId)).toBe(0);
  });

  test('end as the settings ended, however many change them at once', async () => {
    const other = createCohortSchedules({
      store: gateway.store,
      temporal,
      logger,
    });
    const cohortId = await createCohort();
    const settings = { enabled: true, frequency: 'biweekly' };
    for (let round = 0; round < 6; round++) {
      settings.enabled = round % 3 !== 0;
      settings.frequency = round % 2 === 0 ? 'weekly' : 'monthly';
      await account.call('PATCH', `cohort/${cohortId}`, {
        settings: { monitoring: { hie: settings } },
      });
      other.cohortChanged(account.accountId, cohortId);
    }
    await Promise.all([schedules.drain(), other.drain()]);
    expect(await inputOf(cohortId)).toMatchObject({ frequency: 'monthly' });
    expect((await found(cohortId))?.state.paused).toBe(false);
    expect(await drift()).toBe(0);
  });
});

const rowsOf = async (cohortId: string): Promise<number> => {
  const rows = await gateway.store.asSystem((tx) =>
    tx.db
      .selectFrom('cohort_schedule')
      .select('kind')
      .where('cohort_id', '=', cohortId)
      .execute(),
  );
  return rows.length;
};

/** Schedules that are not written as they are wanted. */
const drift = async (): Promise<number> => {
  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{ count: number }>`
      select count(*) from cohort_schedule s join wanted_cohort_schedule w using (cohort_id, kind)
      where s.applied is distinct from w.wanted or s.held_until is not null`.execute(
      tx.db,
    ),
  );
  return rows[0]?.count ?? 0;
};

describe('reconcile', () => {
  test('makes up for what Temporal was not there for', async () => {
    const nowhere = await openConnection(
      { address: '127.0.0.1:1' },
      { lazy: true },
    );
    await nowhere.close();
    const working = schedules;
    schedules = createCohortSchedules({
      store: gateway.store,
      temporal: new TemporalClient({
        connection: nowhere,
        namespace: temporal.options.namespace,
      }),
      logger,
    });
    const cohortId = await createCohort();
    expect(await found(cohortId)).toBeUndefined();
    schedules = working;
    await reconcile();
    expect(await inputOf(cohortId)).toMatchObject({ frequency: 'weekly' });
  });

  test('follows the account’s hours and limits', async () => {
    const cohortId = await createCohort();
    const monitoring = {
      timeZone: 'America/Los_Angeles',
      fromHour: 22,
      toHour: 23,
    };
    await changeAccount({
      monitoring,
      limits: { networkQueriesPerMinute: 50 },
    });
    await reconcile();
    expect((await found(cohortId))?.spec).toMatchObject({
      timezone: 'America/Los_Angeles',
    });
    expect(await inputOf(cohortId)).toMatchObject({ queriesPerMinute: 40 });
    logLines.length = 0;
    await changeAccount({ monitoring: { timeZone: 'Mars/Olympus' } });
    await reconcile();
    expect((await found(cohortId))?.spec).toMatchObject({
      timezone: 'America/New_York',
    });
    expect(logLines.join()).toContain(
      'settings.monitoring of the account is invalid',
    );
  });

  test('puts right what was deleted or changed by hand, and lets an operator’s pause be', async () => {
    const deleted = await createCohort();
    const changed = await createCohort();
    const paused = await createCohort();
    const times = async (cohortId: string) =>
      (await found(cohortId))?.info.nextActionTimes;
    const before = [await times(deleted), await times(changed)];
    await handleOf(deleted).delete();
    await handleOf(changed).update((schedule) => ({
      ...schedule,
      spec: { intervals: [{ every: '1 hour' }] },
    }));
    await handleOf(paused).pause('Not now');
    logLines.length = 0;
    expect(await reconcile()).toBe(2);
    expect([await times(deleted), await times(changed)]).toEqual(before);
    expect((await found(paused))?.state).toMatchObject({
      paused: true,
      note: 'Not now',
    });
    expect(
      logLines.filter((line) => line.includes('from outside')),
    ).toHaveLength(2);
    expect(await reconcile()).toBe(0);
  });

  test('removes schedules whose cohort is not in the books, and no others', async () => {
    const plan = {
      kind: 'hie' as const,
      frequency: 'weekly' as const,
      hours: { timeZone: 'UTC', fromHour: 1, toHour: 5 },
      networkQueriesPerMinute: 120,
    };
    const put = async (owner: {
      accountId?: string;
      credentialRef: string;
    }) => {
      const schedule = monitoringSchedule({
        ...plan,
        ...owner,
        cohortId: uuidv7(),
      });
      const { scheduleId } = await temporal.schedule.create({
        ...schedule,
        scheduleId: schedule.action.workflowId,
      });
      return scheduleId;
    };
    const lost = await put({
      accountId: account.accountId,
      credentialRef: `account/${account.accountId}`,
    });
    const foreign = await put({ credentialRef: 'api-key' });
    const neighbour = await put({
      accountId: uuidv7(),
      credentialRef: 'account/of-another-database',
    });
    const ids = async () => {
      const listed: string[] = [];
      for await (const { scheduleId } of temporal.schedule.list())
        listed.push(scheduleId);
      return listed;
    };
    await expect
      .poll(ids, WAIT)
      .toEqual(expect.arrayContaining([lost, foreign, neighbour]));
    await reconcile();
    await expect.poll(ids, WAIT).not.toContain(lost);
    expect(await ids()).toEqual(expect.arrayContaining([foreign, neighbour]));
  });
});
