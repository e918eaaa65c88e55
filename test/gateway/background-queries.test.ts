import { sql } from 'kysely';
import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  test,
} from 'vitest';
import { BACKGROUND_PRIORITY } from '../../src/contract/query-limits.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const LIMIT = 10;
let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
beforeAll(async () => {
  gateway = await createTestGateway();
});
afterAll(() => gateway.close());
beforeEach(async () => {
  account = await gateway.addAccount({
    settings: { limits: { networkQueriesPerMinute: LIMIT } },
  });
  const answer = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
  patientId = answer.json().id;
  await untilEarlyInMinute();
});

/**
 * Limits are counted by the minute of the database; a test that begins at its
 * end would see two of them.
 */
const untilEarlyInMinute = () =>
  gateway.store.asSystem((tx) =>
    sql`select pg_sleep(case when extract(second from clock_timestamp()) > 55
        then 60.1 - extract(second from clock_timestamp()) else 0 end)`.execute(
      tx.db,
    ),
  );

const start = async (priority: string | undefined, sources = ['hie']) =>
  account.call(
    'POST',
    `network/query?patientId=${patientId}`,
    { sources },
    priority === undefined ? {} : { priority },
  );
const startMany = async (count: number, priority: string | undefined) => {
  const answers = [];
  for (let query = 0; query < count; query += 1)
    answers.push(await start(priority));
  return answers;
};
const kept = async (): Promise<number> =>
  (await account.call('GET', 'network/query')).json().meta.itemsInTotal;
const origins = () =>
  gateway.store.asAccount(account.accountId, async (tx) =>
    (
      await tx.db
        .selectFrom('network_query')
        .select('origin')
        .orderBy('origin')
        .execute()
    ).map(({ origin }) => origin),
  );

describe('a background query', () => {
  test('whose transaction began in the minute before does not make the minute forget its uses', async () => {
    await startMany(1, undefined);
    await gateway.store.asAccount(account.accountId, (tx) =>
      sql`update rate_window set used = 8, window_start = window_start + interval '1 minute'
          where account_id = ${account.accountId} and name = 'network-query/hie'`.execute(
        tx.db,
      ),
    );
    expect((await start(BACKGROUND_PRIORITY)).json().errors).toMatchObject([
      { httpStatus: 429 },
    ]);
  });

  test('starts while less than 80 % of the minute is used, by any kind of query', async () => {
    await startMany(3, undefined);
    const answers = await startMany(6, BACKGROUND_PRIORITY);
    const started = answers.filter(
      (answer) => answer.json().status === 'processing',
    );
    expect(started).toHaveLength(8 - 3);
    expect(await origins()).toEqual([
      ...Array(3).fill('interactive'),
      ...Array(5).fill('monitoring'),
    ]);
  });

  test('above that share is 2XX with a 429 among the errors, says when to retry, and stores nothing', async () => {
    await startMany(8, 'u=7');
    const answer = await start('u=5, i');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      status: 'failed',
      sources: [],
      errors: [{ source: 'hie', httpStatus: 429 }],
    });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(60);
    expect(await kept()).toBe(8);
    expect(
      (await account.call('GET', `network/query/${answer.json().requestId}`))
        .statusCode,
    ).toBe(404);
  });

  test('never takes the last fifth from people: they get it to the last query, however often background asks', async () => {
    await startMany(20, BACKGROUND_PRIORITY);
    const answers = await startMany(3, undefined);
    expect(answers.map((answer) => answer.json().status)).toEqual([
      'processing',
      'processing',
      'failed',
    ]);
  });

  test('starts those of its sources that have room', async () => {
    await startMany(8, undefined);
    const answer = await start(BACKGROUND_PRIORITY, ['hie', 'lab']);
    expect(answer.json()).toMatchObject({
      status: 'processing',
      sources: [{ type: 'lab' }],
      errors: [{ source: 'hie', httpStatus: 429 }],
    });
  });

  test.each(['u=3', 'u=4', 'i', 'u=12', 'u=six', 'su=7'])(
    'is not one with the priority %s',
    async (priority) => {
      await start(priority);
      expect(await origins()).toEqual(['interactive']);
    },
  );

  test('shows its metadata in the list, where later runs look for it', async () => {
    const metadata = { 'monitoring.due': '2026-11-21T02:00:00Z' };
    await account.call('POST', `network/query?patientId=${patientId}`, {
      sources: ['lab'],
      metadata,
    });
    const { queries } = (
      await account.call('GET', 'network/query?source=lab')
    ).json();
    expect(queries).toMatchObject([{ patientId, metadata }]);
  });
});

describe('the sweep after a bulk create', () => {
  test('is shown with the bulk create once it has begun; of others there is none', async () => {
    const { requestId } = (await account.call('POST', 'patient/bulk')).json();
    const shown = async () =>
      (await account.call('GET', `patient/bulk/${requestId}`)).json();
    expect(await shown()).not.toHaveProperty('sweep');
    await gateway.store.asAccount(account.accountId, (tx) =>
      sql`insert into bulk_sweep (request_id, account_id, state, patients, started, skipped)
          values (${requestId}, ${account.accountId}, 'paused', 9, 4, 1)`.execute(
        tx.db,
      ),
    );
    expect((await shown()).sweep).toEqual({
      requestId,
      state: 'paused',
      patients: 9,
      started: 4,
      skipped: 1,
      failed: 0,
      open: 0,
    });
    const other = await gateway.addAccount();
    expect(
      (await other.call('GET', `patient/bulk/${requestId}`)).statusCode,
    ).toBe(404);
    expect(
      (await account.call('POST', `patient/bulk/${requestId}/sweep/cancel`))
        .statusCode,
    ).toBe(409);
  });
});
