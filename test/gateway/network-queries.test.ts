import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
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
  const answer = await account.call(
    'POST',
    `patient?facilityId=${account.facilityId}`,
    newPerson(),
  );
  patientId = answer.json().id;
});
afterAll(() => gateway.close());

const start = (body: unknown, parameters = '') =>
  account.call(
    'POST',
    `network/query?patientId=${patientId}${parameters}`,
    body,
  );

describe('start network query', () => {
  test('answers processing and starts the workflow after the commit; E3 then says in-progress', async () => {
    const answer = await start({
      sources: { hie: { enabled: true }, lab: { enabled: false } },
    });
    expect(answer.statusCode).toBe(200);
    const query = answer.json();
    expect(query).toMatchObject({
      status: 'processing',
      sources: [{ type: 'hie', status: 'processing' }],
    });
    expect(query).not.toHaveProperty('errors');
    expect(gateway.launched).toContain(query.requestId);
    const status = (
      await account.call('GET', `network/query/${query.requestId}`)
    ).json();
    expect(status).toMatchObject({
      status: 'in-progress',
      sources: [{ status: 'in-progress' }],
    });
  });

  test('every answer carries the caller’s own id of the patient, if it has one', async () => {
    const person = newPerson({ externalId: 'chart-30' });
    const named = (
      await account.call(
        'POST',
        `patient?facilityId=${account.facilityId}`,
        person,
      )
    ).json().id;
    for (const [of, externalId] of [
      [named, 'chart-30'],
      [patientId, undefined],
    ]) {
      const started = await account.call(
        'POST',
        `network/query?patientId=${of}`,
        { sources: ['hie'] },
      );
      const { requestId } = started.json();
      const status = await account.call('GET', `network/query/${requestId}`);
      const list = await account.call('GET', `network/query?patientId=${of}`);
      for (const query of [
        started.json(),
        status.json(),
        ...list.json().queries,
      ]) {
        expect(query).toMatchObject({ patientId: of });
        expect(query.externalId).toBe(externalId);
      }
    }
  });

  test('is 2XX and failed when no source could start', async () => {
    const none = await gateway.addAccount({ settings: { sources: {} } });
    const patient = (
      await none.call(
        'POST',
        `patient?facilityId=${none.facilityId}`,
        newPerson(),
      )
    ).json();
    const answer = await none.call(
      'POST',
      `network/query?patientId=${patient.id}`,
      { sources: ['hie'] },
    );
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({
      status: 'failed',
      sources: [],
      errors: [{ source: 'hie', httpStatus: 400 }],
    });
  });

  test('reports the 429 of a source whose limit is used up', async () => {
    const limited = await gateway.addAccount({
      settings: { limits: { networkQueriesPerMinute: 1 } },
    });
    const { id } = (
      await limited.call(
        'POST',
        `patient?facilityId=${limited.facilityId}`,
        newPerson(),
      )
    ).json();
    const answers = [];
    for (let query = 0; query < 3; query += 1) {
      answers.push(
        (
          await limited.call('POST', `network/query?patientId=${id}`, {
            sources: ['lab'],
          })
        ).json(),
      );
    }
    // The minute may turn over once in between.
    const refused = answers.flatMap(({ errors }) => errors ?? []);
    expect(refused.length).toBeGreaterThanOrEqual(1);
    expect(refused.at(-1)).toMatchObject({ source: 'lab', httpStatus: 429 });
  });

  test('asks the pharmacy in realtime only as often a day as the account may, and says what remains possible', async () => {
    const limited = await gateway.addAccount({
      settings: { limits: { pharmacyRealtimePerDay: 2 } },
    });
    const { id } = (
      await limited.call(
        'POST',
        `patient?facilityId=${limited.facilityId}`,
        newPerson(),
      )
    ).json();
    const query = async (realtime: boolean) => {
      const sources = {
        pharmacy: { enabled: true, realtime },
        lab: { enabled: true },
      };
      return (
        await limited.call('POST', `network/query?patientId=${id}`, { sources })
      ).json();
    };
    const answers = [];
    // The day may turn over once in between.
    for (let count = 0; count < 5; count += 1) answers.push(await query(true));
    const [refused] = answers.filter(({ errors }) => errors !== undefined);
    expect(refused).toMatchObject({
      sources: [{ type: 'lab' }],
      errors: [
        {
          source: 'pharmacy',
          httpStatus: 429,
          message:
            'Limit of 2 realtime pharmacy queries per day exceeded; query without realtime, or again after midnight UTC',
        },
      ],
    });
    expect(answers[1]).not.toHaveProperty('errors');
    expect((await query(false)).sources).toMatchObject([
      { type: 'pharmacy' },
      { type: 'lab' },
    ]);
  });

  test.each([
    ['no source', { sources: {} }],
    ['a disabled one only', { sources: { hie: { enabled: false } } }],
    ['an unknown one', { sources: { imaging: { enabled: true } } }],
    [
      '51 metadata entries',
      {
        metadata: Object.fromEntries(
          [...Array(51).keys()].map((n) => [n, 'x']),
        ),
      },
    ],
    [
      'a metadata key of 41 characters',
      { metadata: { ['k'.repeat(41)]: 'x' } },
    ],
    [
      'a metadata value of 501 characters',
      { metadata: { k: 'x'.repeat(501) } },
    ],
    ['a metadata value that is no string', { metadata: { k: 1 } }],
  ])('refuses %s', async (_what, body) => {
    expect((await start({ sources: ['hie'], ...body })).statusCode).toBe(400);
  });

  test('takes metadata up to its limits', async () => {
    const metadata = Object.fromEntries(
      [...Array(50).keys()].map((n) => [
        String(n).padStart(40, 'k'),
        'v'.repeat(500),
      ]),
    );
    expect((await start({ sources: ['hie'], metadata })).statusCode).toBe(200);
  });

  test('for individual access wants identity and session: 400 without, 403 with unknown ones', async () => {
    const missing = await start({ sources: ['hie'] }, '&purposeOfUse=ias');
    expect(missing.statusCode).toBe(400);
    expect(
      missing.json().errors.map(({ path }: { path: string }) => path),
    ).toEqual(['proofedIdentityId', 'x-aal2-session']);
    const unknown = await account.call(
      'POST',
      `network/query?patientId=${patientId}&purposeOfUse=ias`,
      { sources: ['hie'], proofedIdentityId: 'p-1' },
      { 'x-aal2-session': 's-1' },
    );
    expect(unknown.statusCode).toBe(403);
  });

  test('answers 404 for an unknown patient and query', async () => {
    const unknown = '0198a000-0000-7000-8000-000000000000';
    const answer = await account.call(
      'POST',
      `network/query?patientId=${unknown}`,
      { sources: ['hie'] },
    );
    expect(answer.statusCode).toBe(404);
    expect(
      (await account.call('GET', `network/query/${unknown}`)).statusCode,
    ).toBe(404);
    expect(
      (await account.call('GET', `network/query/${unknown}/timeline`))
        .statusCode,
    ).toBe(404);
  });
});

describe('the list of queries', () => {
  test('is paged newest first by cursors that new queries do not move', async () => {
    const owner = await gateway.addAccount();
    const { id } = (
      await owner.call(
        'POST',
        `patient?facilityId=${owner.facilityId}`,
        newPerson(),
      )
    ).json();
    const startOne = async () =>
      (
        await owner.call('POST', `network/query?patientId=${id}`, {
          sources: ['lab'],
        })
      ).json().requestId;
    const started: string[] = [];
    for (let query = 0; query < 5; query += 1)
      started.unshift(await startOne());
    // Several that began at the very same microsecond.
    await gateway.store.asAccount(owner.accountId, (tx) =>
      sql`update network_query set started_at = (select min(started_at) from network_query)
          where id in (${started[0]}, ${started[1]}, ${started[2]})`.execute(
        tx.db,
      ),
    );

    const seen: string[] = [];
    let address: string | undefined =
      `/medical/v1/network/query?count=2&patientId=${id}&status=in-progress`;
    for (let page = 0; address !== undefined && page < 9; page += 1) {
      const {
        queries,
        meta,
      }: { queries: { requestId: string }[]; meta: Record<string, unknown> } = (
        await owner.call('GET', address)
      ).json();
      if (page === 0) await startOne();
      expect(meta.itemsOnPage).toBe(queries.length);
      seen.push(...queries.map(({ requestId }) => requestId));
      const next = meta.nextPage as string | undefined;
      if (next !== undefined)
        expect(next).toMatch(
          /^https:\/\/exchange\.test\.example\.org\/medical\/v1\//,
        );
      address = next?.replace('https://exchange.test.example.org', '');
    }
    expect([...seen].sort()).toEqual([...started].sort());
  });

  test('refuses a cursor that is none, and more than 500 items', async () => {
    expect(
      (await account.call('GET', 'network/query?fromItem=abc')).statusCode,
    ).toBe(400);
    expect(
      (await account.call('GET', 'network/query?count=501')).statusCode,
    ).toBe(400);
  });

  test('filters by status, source and start', async () => {
    const list = async (filter: string) =>
      (await account.call('GET', `network/query?${filter}`)).json().queries
        .length;
    expect(await list('status=completed')).toBe(0);
    expect(await list('source=pharmacy')).toBe(0);
    expect(await list('source=hie')).toBeGreaterThan(0);
    expect(await list('startedAfter=2200-01-01T00:00:00Z')).toBe(0);
  });
});

describe('control', () => {
  test('passes a conflict of the service on and keeps nothing under the idempotency key', async () => {
    const { requestId } = (await start({ sources: ['hie'] })).json();
    for (const action of ['source/hie/retry', 'source/hie/cancel', 'cancel']) {
      const url = `network/query/${requestId}/${action}`;
      const answer = await account.call('POST', url, undefined, {
        'idempotency-key': action,
      });
      expect([answer.statusCode, answer.json().name]).toEqual([
        409,
        'CONFLICT',
      ]);
    }
    const { rows } = await gateway.store.asAccount(account.accountId, (tx) =>
      sql`select * from idempotency_key`.execute(tx.db),
    );
    expect(rows).toEqual([]);
  });
});
