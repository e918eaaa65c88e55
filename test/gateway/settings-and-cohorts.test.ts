import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertEvent } from '../../src/exchange/platform/outbox/event-store.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
const sent: string[] = [];
beforeAll(async () => {
  const note = (_account: string, ids: readonly string[]) =>
    void sent.push(...ids);
  gateway = await createTestGateway({ webhookDispatcher: { resume: note } });
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

describe('settings', () => {
  test('show no key before a destination is set, keep its key when the address changes, and clear it', async () => {
    const before = (await account.call('GET', 'settings')).json();
    expect(before).toEqual({
      id: account.accountId,
      webhookUrl: null,
      webhookKey: null,
    });
    const set = await account.call('POST', 'settings', {
      webhookUrl: 'https://hooks.example.org/a',
    });
    const { webhookKey } = set.json();
    expect(
      Buffer.from(webhookKey.replace(/^whsec_/, ''), 'base64'),
    ).toHaveLength(32);
    const moved = await account.call('POST', 'settings', {
      webhookUrl: 'https://hooks.example.org/b',
    });
    expect(moved.json()).toEqual({
      ...set.json(),
      webhookUrl: 'https://hooks.example.org/b',
    });
    expect((await account.call('POST', 'settings', {})).json()).toEqual(
      moved.json(),
    );
    const cleared = await account.call('POST', 'settings', {
      webhookUrl: null,
    });
    expect(cleared.json()).toEqual(before);
    const again = await account.call('POST', 'settings', {
      webhookUrl: 'https://hooks.example.org/c',
    });
    expect(again.json().webhookKey).toBe(webhookKey);
  });

  test('answer at the root too', async () => {
    for (const path of ['/settings', '/settings/webhook']) {
      expect((await account.call('GET', path)).json()).toEqual(
        (await account.call('GET', `/medical/v1${path}`)).json(),
      );
    }
  });

  test.each([
    'http://hooks.example.org/',
    'https://localhost/x',
    'https://127.0.0.1/x',
    'https://10.1.2.3/x',
    'https://169.254.169.254/latest/meta-data',
    'https://[::ffff:192.168.0.1]/x',
    'ftp://hooks.example.org/',
    'nowhere',
  ])('refuse the destination %s', async (webhookUrl) => {
    const answer = await account.call('POST', 'settings', { webhookUrl });
    expect([answer.statusCode, answer.json().errors[0].path]).toEqual([
      400,
      'webhookUrl',
    ]);
  });

  test('show what is undelivered, and send it again on request', async () => {
    const owner = await gateway.addAccount();
    const eventId = await gateway.store.asAccount(owner.accountId, (tx) =>
      insertEvent(tx, {
        type: 'network-query.hie',
        factKey: uuidv7(),
        patientId: uuidv7(),
        requestId: uuidv7(),
        occurredAt: new Date(),
        body: { meta: {} },
      }),
    );
    await owner.call('POST', 'settings', {
      webhookUrl: 'https://hooks.example.org/late',
    });
    const answer = await owner.call('POST', 'settings/webhook/retry');
    expect(answer.json().events).toBe(1);
    expect(sent).toEqual([eventId]);
    expect((await owner.call('GET', 'settings/webhook')).json()).toEqual({
      webhookUrl: 'https://hooks.example.org/late',
      webhookEnabled: true,
      webhookStatus: 'unknown',
      lastStatusAt: null,
      pending: 1,
      deadLettered: 0,
    });
  });
});

describe('cohorts', () => {
  test('have unique names in the account, defaults in depth, and count their patients', async () => {
    const answer = await account.call('POST', 'cohort', {
      name: '  Diabetes ',
      settings: {
        monitoring: {
          hie: { enabled: true },
          pharmacy: { schedule: { frequency: 'weekly' } },
        },
      },
    });
    expect(answer.statusCode).toBe(201);
    const cohort = answer.json();
    expect(cohort).toMatchObject({
      name: 'Diabetes',
      description: '',
      color: 'white',
      purposeOfUse: 'treatment',
      size: 0,
      settings: {
        monitoring: {
          hie: { enabled: true, frequency: 'monthly' },
          adt: { enabled: false },
          pharmacy: {
            notifications: false,
            schedule: { enabled: false, frequency: 'weekly' },
          },
          laboratory: { notifications: false },
        },
      },
    });
    const again = await account.call('POST', 'cohort', { name: 'Diabetes' });
    expect([again.statusCode, again.json().errors[0].path]).toEqual([
      400,
      'name',
    ]);
    expect(
      (await account.call('POST', 'cohort', { name: 'X', color: 'mauve' }))
        .statusCode,
    ).toBe(400);

    const url = `patient?facilityId=${account.facilityId}`;
    const patient = (
      await account.call('POST', url, newPerson({ cohorts: [cohort.id] }))
    ).json();
    const other = (
      await account.call('POST', 'cohort', { name: 'Asthma' })
    ).json();
    const joined = await account.call('POST', `patient/${patient.id}/cohort`, {
      cohortIds: [cohort.id, other.id, other.id],
    });
    expect(joined.statusCode).toBe(200);
    expect(
      joined
        .json()
        .cohorts.map(({ name, size }: Record<string, unknown>) => [name, size]),
    ).toEqual([
      ['Asthma', 1],
      ['Diabetes', 1],
    ]);
    expect((await account.call('GET', 'cohort')).json()).toEqual(joined.json());
  });

  test('answer 404 to an unknown patient and an unknown cohort, and assign nothing then', async () => {
    const unknown = '0198a000-0000-7000-8000-000000000000';
    const cohort = (
      await account.call('POST', 'cohort', { name: 'Third' })
    ).json();
    const body = { cohortIds: [cohort.id, unknown] };
    expect(
      (await account.call('POST', `patient/${unknown}/cohort`, body))
        .statusCode,
    ).toBe(404);
    const url = `patient?facilityId=${account.facilityId}`;
    const { id } = (await account.call('POST', url, newPerson())).json();
    const answer = await account.call('POST', `patient/${id}/cohort`, body);
    expect([answer.statusCode, answer.json().detail]).toEqual([
      404,
      `Cohort ${unknown} not found`,
    ]);
    const cohorts = (await account.call('GET', 'cohort')).json().cohorts;
    expect(
      cohorts.find(({ name }: { name: string }) => name === 'Third').size,
    ).toBe(0);
  });
});

describe('facilities', () => {
  test('are listed with their identifiers and address', async () => {
    expect(
      (await account.call('GET', 'facility')).json().facilities,
    ).toMatchObject([
      {
        id: account.facilityId,
        npi: '1234567893',
        active: true,
        address: { zip: '02108' },
      },
    ]);
  });
});
