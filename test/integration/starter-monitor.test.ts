import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  type CohortSchedules,
  createCohortSchedules,
} from '../../src/exchange/people/monitoring/cohort-schedules.ts';
import { createLogger } from '../../src/lib/logger.ts';
import {
  createTemporalClient,
  type TemporalClient,
} from '../../src/temporal/client.ts';
import {
  createTestGateway,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { startMonitoringWorker } from '../support/monitoring-worker.ts';
import { starter } from '../support/run-starter.ts';
import { createTestNamespace } from '../support/temporal-namespace.ts';
import { TEST_DATA_KEYS, TEST_ID_HMAC_KEY } from '../support/test-keys.ts';

// The gateway over HTTP and Temporal are real; the workflow that a schedule
// starts is a stand-in.

interface Monitoring {
  cohortId: string;
  kind: string;
  scheduleId: string;
  frequency: string;
  state: string;
  note?: string;
  nextRunAt?: string;
  lastRun?: { workflowId: string; status: string; counts?: object };
}

let gateway: TestGateway;
let schedules: CohortSchedules;
let account: TestAccount;
let temporal: TemporalClient;
let baseUrl: string;
let settings: Record<string, string>;
let stopWorker: () => Promise<void>;

beforeAll(async () => {
  settings = {
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: await createTestNamespace(),
    TEMPORAL_UI_URL: 'http://ui.test',
    DATA_KEYS: TEST_DATA_KEYS,
    ID_HMAC_KEY: TEST_ID_HMAC_KEY,
  };
  temporal = await createTemporalClient({
    TEMPORAL_ADDRESS: inject('temporalAddress'),
    TEMPORAL_NAMESPACE: settings.TEMPORAL_NAMESPACE ?? '',
    TEMPORAL_API_KEY: undefined,
    DATA_KEYS: TEST_DATA_KEYS,
  });
  gateway = await createTestGateway({
    cohortSchedules: {
      cohortChanged: (accountId, cohortId) =>
        schedules.cohortChanged(accountId, cohortId),
    },
  });
  schedules = createCohortSchedules({
    store: gateway.store,
    temporal,
    logger: createLogger('test', 'fatal'),
  });
  account = await gateway.addAccount();
  baseUrl = await gateway.app.listen({ host: '127.0.0.1', port: 0 });
  stopWorker = await startMonitoringWorker(
    inject('temporalAddress'),
    settings.TEMPORAL_NAMESPACE,
  );
});
afterAll(async () => {
  await stopWorker();
  await schedules.drain();
  await gateway.close();
  await temporal.connection.close();
});

const run = (access: Record<string, string>, ...argv: string[]) =>
  starter(['monitor', ...argv, '--base-url', baseUrl, '--json'], {
    env: { ...settings, API_KEY: account.apiKey, ...access },
  });
const own = (...argv: string[]) =>
  run({ EXCHANGE_ACCOUNT_ID: account.accountId }, ...argv);
const foreign = (...argv: string[]) =>
  run({ EXCHANGE_API_KEY: account.apiKey }, ...argv);
const monitorings = (result: { json(): Record<string, unknown> }) =>
  result.json().monitorings as Monitoring[];

const createCohort = async (name: string): Promise<string> =>
  (await account.call('POST', 'cohort', { name })).json().id;

describe('monitoring at our own exchange', () => {
  let cohortId: string;
  beforeAll(async () => {
    cohortId = await createCohort('Own');
  });

  test('is switched on by the cohort’s settings, and listed with its next run', async () => {
    expect(await own('list', cohortId)).toMatchObject({ exitCode: 0 });
    const created = await own(
      'create',
      cohortId,
      'pharmacy',
      '--frequency',
      'weekly',
    );
    expect(created).toMatchObject({ exitCode: 0 });
    const cohort = (await account.call('GET', `cohort/${cohortId}`)).json();
    expect(cohort.settings.monitoring.pharmacy.schedule).toEqual({
      enabled: true,
      frequency: 'weekly',
    });
    const [listed] = monitorings(await own('list', cohortId));
    expect(listed).toMatchObject({
      cohortId,
      cohortName: 'Own',
      kind: 'pharmacy',
      frequency: 'weekly',
      state: 'on',
      nextRunAt: expect.stringMatching(/^20/),
      scheduleUrl: `http://ui.test/namespaces/${settings.TEMPORAL_NAMESPACE}/schedules/cohort-monitoring%2F${cohortId}%2Fpharmacy`,
    });
    expect(
      await own('create', cohortId, 'hie', '--time-zone', 'Europe/Berlin'),
    ).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('settings of the account'),
    });
  });

  test('is triggered, and its run listed with its counts', async () => {
    const triggered = await own('trigger', cohortId, 'pharmacy');
    expect(triggered).toMatchObject({ exitCode: 0 });
    const workflowId = monitorings(triggered)[0]?.lastRun?.workflowId ?? '';
    await temporal.workflow.getHandle(workflowId).result();
    const [listed] = monitorings(await own('list', cohortId));
    expect(listed?.lastRun).toMatchObject({
      workflowId,
      status: 'completed',
      counts: { patients: 10, started: 7, skipped: 2, failed: 1 },
    });
  });

  test('is paused with a note, which a change leaves alone, and resumed', async () => {
    const [paused] = monitorings(
      await own('pause', cohortId, 'pharmacy', '--note', 'Source moves'),
    );
    expect(paused).toMatchObject({ state: 'paused', note: 'Source moves' });
    expect(paused?.nextRunAt).toBeUndefined();
    const { state } = await temporal.schedule
      .getHandle(`cohort-monitoring/${cohortId}/pharmacy`)
      .describe();
    expect(state.note).toMatch(/^sealed:/);
    const [changed] = monitorings(
      await own('create', cohortId, 'pharmacy', '--frequency', 'biweekly'),
    );
    expect(changed).toMatchObject({
      state: 'paused',
      note: 'Source moves',
      frequency: 'biweekly',
    });
    const [resumed] = monitorings(await own('resume', cohortId, 'pharmacy'));
    expect(resumed).toMatchObject({ state: 'on', frequency: 'biweekly' });
  });

  test('is made up for over months, one run after the other', async () => {
    const result = await own(
      'backfill',
      cohortId,
      'pharmacy',
      '--from',
      '2026-01-01',
      '--to',
      '2026-07-02',
    );
    expect(result).toMatchObject({ exitCode: 0 });
    expect(result.json().runs).toBe(13);
    await expect
      .poll(
        async () =>
          (
            await temporal.schedule
              .getHandle(`cohort-monitoring/${cohortId}/pharmacy`)
              .describe()
          ).info,
        { timeout: 240_000 },
      )
      .toMatchObject({ numActionsTaken: 14, numActionsSkippedOverlap: 0 });
    expect(
      await own(
        'backfill',
        cohortId,
        'pharmacy',
        '--from',
        '2026-01-01',
        '--to',
        '2026-01-01T00:01Z',
      ),
    ).toMatchObject({ exitCode: 5, stderr: expect.stringContaining('No run') });
  });

  test('is switched off by the cohort’s settings, and then refuses to be steered', async () => {
    const deleted = await own('delete', cohortId, 'pharmacy');
    expect(deleted).toMatchObject({ exitCode: 0 });
    expect(monitorings(deleted)).toMatchObject([{ state: 'off' }]);
    const cohort = (await account.call('GET', `cohort/${cohortId}`)).json();
    expect(cohort.settings.monitoring.pharmacy.schedule.enabled).toBe(false);
    for (const command of ['trigger', 'pause', 'resume'])
      expect(await own(command, cohortId, 'pharmacy')).toMatchObject({
        exitCode: 5,
        stderr: expect.stringContaining('monitor create'),
      });
  });

  test('of a cohort that is not there is refused', async () => {
    const nowhere = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a99';
    expect(await own('create', nowhere, 'hie')).toMatchObject({ exitCode: 5 });
    expect(await own('trigger', nowhere, 'hie')).toMatchObject({ exitCode: 5 });
  });
});

describe('monitoring at a foreign exchange', () => {
  test('has a schedule that the command makes itself, by the same rules, and removes', async () => {
    const cohortId = await createCohort('Foreign');
    const options = [
      '--frequency',
      'biweekly',
      '--time-zone',
      'Europe/Berlin',
      '--from-hour',
      '22',
    ];
    const created = await foreign(
      'create',
      cohortId,
      'hie',
      ...options,
      '--to-hour',
      '4',
    );
    expect(created).toMatchObject({ exitCode: 0 });
    const handle = temporal.schedule.getHandle(
      `cohort-monitoring/${cohortId}/hie`,
    );
    const { action, spec, searchAttributes } = await handle.describe();
    expect(action.args).toMatchObject([
      { exchange: { credentialRef: 'api-key' }, frequency: 'biweekly' },
    ]);
    expect(spec.timezone).toBe('Europe/Berlin');
    expect(searchAttributes).toEqual({});
    await expect
      .poll(
        async () =>
          monitorings(await foreign('list')).map(
            ({ scheduleId }) => scheduleId,
          ),
        {
          timeout: 240_000,
        },
      )
      .toEqual([handle.scheduleId]);
    // It is none of our own exchange's, and so not in its list.
    expect(monitorings(await own('list', cohortId))).toEqual([]);
    expect(
      (await account.call('GET', `cohort/${cohortId}`)).json().settings
        .monitoring.hie.enabled,
    ).toBe(false);

    expect(await foreign('delete', cohortId, 'hie')).toMatchObject({
      exitCode: 0,
    });
    expect(await foreign('trigger', cohortId, 'hie')).toMatchObject({
      exitCode: 5,
    });
  });

  test('refuses a cohort and a time zone that are not there', async () => {
    const nowhere = '0198f1c2-7d11-7f3a-9d52-0c8f2f6f1a99';
    expect(await foreign('create', nowhere, 'hie')).toMatchObject({
      exitCode: 5,
      stderr: expect.stringContaining('has no cohort'),
    });
    const cohortId = await createCohort('Foreign, elsewhere');
    expect(
      await foreign('create', cohortId, 'hie', '--time-zone', 'Mars/Olympus'),
    ).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('IANA'),
    });
  });
});
