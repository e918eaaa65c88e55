import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RECORD_TYPES } from '../../src/contract/consolidated-query.ts';
import { endConsolidatedQuery } from '../../src/exchange/delivery/consolidated-query/query-store.ts';
import {
  CLINICAL_TYPES,
  SUPPORTING_TYPES,
} from '../../src/exchange/records/rules/resource-types.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
let patientId: string;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  patientId = await addPatient(account);
});
afterAll(() => gateway.close());

async function addPatient(by: TestAccount): Promise<string> {
  const { facilityId } = by;
  return (
    await by.call('POST', `patient?facilityId=${facilityId}`, newPerson())
  ).json().id;
}
const path = (rest = 'consolidated/query', of = patientId) =>
  `patient/${of}/${rest}`;
const start = async (parameters = '', body?: object) =>
  (
    await account.call('POST', path(`consolidated/query${parameters}`), body)
  ).json();
const end = (requestId: string) =>
  gateway.store.asAccount(account.accountId, (tx) =>
    endConsolidatedQuery(tx, requestId, { reason: 'for the test' }),
  );

describe('starting a consolidated query', () => {
  test('answers what it will give, once it is safe, and starts its workflow', async () => {
    const answer = await account.call(
      'POST',
      path(
        'consolidated/query?conversionType=pdf&resources=Observation,Condition&dateFrom=2024-01-01',
      ),
      { metadata: { visit: '7' } },
    );
    expect(answer.statusCode).toBe(200);
    const { requestId, startedAt, ...rest } = answer.json();
    expect(rest).toEqual({
      status: 'processing',
      conversionType: 'pdf',
      resources: ['Condition', 'Observation'],
      dateFrom: '2024-01-01',
    });
    expect(startedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(gateway.launched).toContain(requestId);
    expect(
      (
        await account.call('GET', path(`consolidated/query/${requestId}`))
      ).json(),
    ).toEqual(answer.json());
  });

  test('answers the one in progress for the same parameters, however they are written, and starts none', async () => {
    const [first, ...others] = await Promise.all(
      ['Task,Goal', 'Goal,Task', 'Goal&resources=Task', 'Task,Goal,Task'].map(
        (names) => start(`?resources=${names}`),
      ),
    );
    for (const other of others) expect(other).toEqual(first);
    expect(
      gateway.launched.filter((id) => id === first.requestId),
    ).toHaveLength(1);
    expect(
      (await start('?resources=Task,Goal&conversionType=html')).requestId,
    ).not.toBe(first.requestId);
    await end(first.requestId);
    expect((await start('?resources=Task,Goal')).requestId).not.toBe(
      first.requestId,
    );
  });

  test.each([
    [
      'resources=Foo',
      'resources',
      '"Foo" is not a supported resource type; supported types are AdverseEvent, Al',
    ],
    ['resources=', 'resources', 'contains an empty name'],
    [
      'dateFrom=2024-02-30',
      'dateFrom',
      '"2024-02-30" is not a date in the format YYYY-MM-DD',
    ],
    [
      'dateFrom=2024-03-02&dateTo=2024-03-01',
      'dateTo',
      'before dateFrom (2024-03-02)',
    ],
    ['conversionType=docx', 'conversionType', 'json'],
  ])(
    'refuses %s and says what is right, as do its neighbours',
    async (parameters, field, message) => {
      const calls = [
        account.call('POST', path(`consolidated/query?${parameters}`)),
      ];
      if (field !== 'conversionType')
        for (const other of ['consolidated', 'consolidated/count'])
          calls.push(account.call('GET', path(`${other}?${parameters}`)));
      for (const answer of await Promise.all(calls)) {
        expect(answer.statusCode).toBe(400);
        expect(answer.json().errors).toMatchObject([
          { path: field, message: expect.stringContaining(message) },
        ]);
      }
    },
  );

  test('stops at the limit of a minute and says when there is room again', async () => {
    const few = await gateway.addAccount({
      settings: { limits: { consolidatedQueriesPerMinute: 2 } },
    });
    const of = await addPatient(few);
    // Five, for the minute may turn once between them.
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => few.call('POST', path(undefined, of))),
    );
    const refused = answers.filter(({ statusCode }) => statusCode === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('consolidated queries', () => {
  test('are listed while they are in progress, newest first, with the status of the latest', async () => {
    const of = await addPatient(account);
    const list = async () =>
      (await account.call('GET', path(undefined, of))).json();
    expect(await list()).toMatchObject({
      status: null,
      queries: [],
      message: expect.stringContaining('POST'),
    });
    const first = (
      await account.call('POST', path('consolidated/query', of))
    ).json();
    const second = (
      await account.call(
        'POST',
        path('consolidated/query?conversionType=pdf', of),
      )
    ).json();
    expect(await list()).toMatchObject({
      status: 'processing',
      queries: [second, first],
    });
    await end(second.requestId);
    expect(await list()).toMatchObject({ status: 'failed', queries: [first] });
    expect(
      (
        await account.call(
          'GET',
          path(`consolidated/query/${second.requestId}`, of),
        )
      ).json(),
    ).toMatchObject({
      status: 'failed',
      message: 'for the test',
    });
  });

  test("are nobody else's: neither another account's nor another patient's", async () => {
    const stranger = await gateway.addAccount();
    const { requestId } = await start();
    for (const rest of [
      'consolidated/query',
      'consolidated',
      'consolidated/count',
      `consolidated/query/${requestId}`,
    ])
      expect((await stranger.call('GET', path(rest))).statusCode, rest).toBe(
        404,
      );
    expect((await stranger.call('POST', path())).statusCode).toBe(404);
    const other = await addPatient(account);
    expect(
      (
        await account.call(
          'GET',
          path(`consolidated/query/${requestId}`, other),
        )
      ).statusCode,
    ).toBe(404);
    expect(
      (await account.call('GET', path('consolidated', uuidv7()))).statusCode,
    ).toBe(404);
  });
});

describe('the record at once', () => {
  test('is a searchset, also for a patient without any collected data', async () => {
    const answer = await account.call('GET', path('consolidated'));
    expect(answer.headers['content-type']).toBe(
      'application/fhir+json; charset=utf-8',
    );
    expect(answer.json()).toMatchObject({
      resourceType: 'Bundle',
      type: 'searchset',
      entry: [
        {
          resource: { resourceType: 'Patient', id: patientId },
          search: { mode: 'match' },
        },
      ],
    });
    const none = await account.call(
      'GET',
      path('consolidated?resources=Condition'),
    );
    expect(none.json()).not.toHaveProperty('entry');
    const count = await account.call(
      'GET',
      path('consolidated/count?dateTo=2024-01-01'),
    );
    expect(count.json()).toEqual({
      total: 1,
      resources: { Patient: 1 },
      filter: { resources: 'all', dateTo: '2024-01-01' },
    });
  });

  test('can be asked for every type that a record may hold', () => {
    expect(RECORD_TYPES).toEqual(
      [...new Set([...CLINICAL_TYPES, ...SUPPORTING_TYPES])].sort(),
    );
  });
});
