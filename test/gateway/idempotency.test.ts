import { randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertApiKey } from '../../src/exchange/access/accounts/api-key-store.ts';
import {
  generateApiKey,
  parseApiKey,
} from '../../src/exchange/access/accounts/rules/api-key.ts';
import { INTERNAL_AUDIENCE } from '../../src/exchange/access/authentication/authenticate.ts';
import {
  createTestGateway,
  newPerson,
  TEST_INTERNAL_KEY,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const newKey = () => `MRN-00123-${randomUUID()}`;
const create = (body: unknown, key: string) =>
  account.call('POST', `patient?facilityId=${account.facilityId}`, body, {
    'idempotency-key': key,
  });

describe('an idempotency key', () => {
  test('gives the first answer again, and the effect only once', async () => {
    const key = newKey();
    const body = newPerson({ networkQuery: { sources: ['hie'] } });
    const first = await create(body, key);
    const started = gateway.launched.length;
    const again = await create(body, key);
    expect(again.statusCode).toBe(201);
    expect(again.json()).toEqual(first.json());
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(gateway.launched).toHaveLength(started);
  });

  test('of an update or a deletion repeats its answer, although the eTag is no longer current or the patient is gone', async () => {
    const created = await create(newPerson(), newKey());
    const { id } = created.json<{ id: string }>();
    const write = (
      method: 'PUT' | 'DELETE',
      body: unknown,
      key: string,
      tag: unknown,
    ) =>
      account.call(
        method,
        `patient/${id}?facilityId=${account.facilityId}`,
        body,
        {
          'idempotency-key': key,
          'if-match': String(tag),
        },
      );
    const update = newKey();
    const removal = newKey();
    const body = newPerson({ lastName: 'Changed' });
    const first = await write('PUT', body, update, created.headers.etag);
    expect(first.statusCode).toBe(200);
    const again = await write('PUT', body, update, created.headers.etag);
    expect([again.statusCode, again.json()]).toEqual([200, first.json()]);
    expect(
      (await write('PUT', newPerson(), update, created.headers.etag))
        .statusCode,
    ).toBe(422);
    expect(
      (await write('PUT', body, newKey(), created.headers.etag)).statusCode,
    ).toBe(412);
    expect(
      (await write('DELETE', undefined, removal, first.headers.etag))
        .statusCode,
    ).toBe(204);
    const repeated = await write(
      'DELETE',
      undefined,
      removal,
      first.headers.etag,
    );
    expect([
      repeated.statusCode,
      repeated.headers['idempotent-replayed'],
    ]).toEqual([204, 'true']);
    expect(
      (await write('DELETE', undefined, newKey(), first.headers.etag))
        .statusCode,
    ).toBe(404);
  });

  test('is refused with 422 for another body and for another address', async () => {
    const key = newKey();
    await create(newPerson(), key);
    expect((await create(newPerson(), key)).statusCode).toBe(422);
    const elsewhere = await account.call(
      'POST',
      'cohort',
      { name: 'X' },
      { 'idempotency-key': key },
    );
    expect(elsewhere.statusCode).toBe(422);
  });

  test('of another account is another key', async () => {
    const key = newKey();
    const stranger = await gateway.addAccount();
    await create(newPerson(), key);
    const url = `patient?facilityId=${stranger.facilityId}`;
    const answer = await stranger.call('POST', url, newPerson(), {
      'idempotency-key': key,
    });
    expect(answer.statusCode).toBe(201);
  });

  test('of another API key of the account is another key', async () => {
    const other = generateApiKey();
    const parts = parseApiKey(other);
    if (parts === undefined) throw new Error('not a key');
    await gateway.store.asSystem((tx) =>
      insertApiKey(tx, {
        id: uuidv7(),
        accountId: account.accountId,
        ...parts,
      }),
    );
    const key = { 'idempotency-key': newKey() };
    const first = await account.call('POST', 'token/embed', undefined, key);
    const second = await account.call('POST', 'token/embed', undefined, {
      ...key,
      'x-api-key': other,
    });
    expect([first.statusCode, second.statusCode]).toEqual([200, 200]);
    expect(second.headers['idempotent-replayed']).toBeUndefined();
    expect(second.json().token).not.toBe(first.json().token);
    const again = await account.call('POST', 'token/embed', undefined, {
      ...key,
      'x-api-key': other,
    });
    expect(again.json()).toEqual(second.json());
  });

  test('of our orchestrator holds whatever token it shows', async () => {
    const body = newPerson();
    const key = newKey();
    const createWith = async (expiry: string) =>
      gateway.app.inject({
        method: 'POST',
        url: `/medical/v1/patient?facilityId=${account.facilityId}`,
        headers: {
          authorization: `Bearer ${await new SignJWT()
            .setProtectedHeader({ alg: 'HS256' })
            .setSubject(account.accountId)
            .setAudience(INTERNAL_AUDIENCE)
            .setExpirationTime(expiry)
            .sign(new TextEncoder().encode(TEST_INTERNAL_KEY))}`,
          'idempotency-key': key,
        },
        payload: body,
      });
    const first = await createWith('1 minute');
    const again = await createWith('2 minutes');
    expect([first.statusCode, again.statusCode]).toEqual([201, 201]);
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  test('lets one of many simultaneous requests through, and answers the others 409 or the same', async () => {
    const key = newKey();
    const body = newPerson();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => create(body, key)),
    );
    const ids = new Set(
      answers
        .filter(({ statusCode }) => statusCode === 201)
        .map((a) => a.json().id),
    );
    expect(ids.size).toBe(1);
    expect(
      answers.every(
        ({ statusCode }) => statusCode === 201 || statusCode === 409,
      ),
    ).toBe(true);
    expect(
      answers.filter(
        (a) => a.statusCode === 201 && !a.headers['idempotent-replayed'],
      ),
    ).toHaveLength(1);
  });

  test('is free again when its request was refused', async () => {
    const key = newKey();
    const cohorts = ['0198a000-0000-7000-8000-000000000000'];
    expect((await create(newPerson({ cohorts }), key)).statusCode).toBe(400);
    expect((await create(newPerson(), key)).statusCode).toBe(201);
  });

  test('is forgotten after a day', async () => {
    const key = newKey();
    await create(newPerson(), key);
    await gateway.store.asAccount(account.accountId, (tx) =>
      sql`update idempotency_key set created_at = created_at - interval '24 hours'`.execute(
        tx.db,
      ),
    );
    expect((await create(newPerson(), key)).statusCode).toBe(201);
  });

  test('whose request was cut off is busy for a minute, and then free', async () => {
    const key = newKey();
    const url = 'network/query/0198a000-0000-7000-8000-000000000000/cancel';
    const cancel = () =>
      account.call('POST', url, undefined, { 'idempotency-key': key });
    const conflict = await cancel();
    expect(conflict.statusCode).toBe(409);
    expect(conflict.headers['retry-after']).toBeUndefined();
    const body = newPerson();
    await create(body, key);
    const age = (seconds: number) =>
      gateway.store.asAccount(account.accountId, (tx) =>
        sql`update idempotency_key set status = null, answer = null,
              created_at = now() - make_interval(secs => ${seconds})`.execute(
          tx.db,
        ),
      );
    await age(30);
    const busy = await create(body, key);
    expect(busy.json().detail).toContain('still in progress');
    // Unlike a conflict with the state of things, this one passes by itself.
    expect(busy.headers['retry-after']).toBe('2');
    await age(90);
    expect((await create(body, key)).statusCode).toBe(200);
  });

  test('is kept as a hash, as is the request', async () => {
    const key = newKey();
    await create(newPerson(), key);
    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        row: string;
      }>`select idempotency_key::text as row from idempotency_key`.execute(
        tx.db,
      ),
    );
    expect(rows.map(({ row }) => row).join()).not.toContain('MRN-00123');
  });
});

describe('the audit', () => {
  test('has one entry for every write, refused and replayed ones too, and for every look at a patient, in order', async () => {
    const owner = await gateway.addAccount();
    const key = newKey();
    const body = newPerson();
    const url = `patient?facilityId=${owner.facilityId}`;
    const patient = (
      await owner.call('POST', url, body, { 'idempotency-key': key })
    ).json();
    await owner.call('POST', url, body, { 'idempotency-key': key });
    await owner.call('PUT', `patient/${patient.id}`, body, {
      'if-match': '"v99"',
    });
    await owner.call('GET', `patient/${patient.id}`);
    await owner.call('GET', 'cohort');
    const { rows } = await gateway.store.asAccount(owner.accountId, (tx) =>
      sql<{
        operation: string;
        outcome: string;
        patient_id: string;
        actor: string;
      }>`
        select * from audit_entry order by id`.execute(tx.db),
    );
    expect(rows.map(({ operation, outcome }) => [operation, outcome])).toEqual([
      ['createPatient', '201'],
      ['createPatient', '201 replayed'],
      ['updatePatient', '412'],
      ['getPatient', '200'],
    ]);
    expect([rows[0]?.patient_id, rows[3]?.patient_id]).toEqual([
      patient.id,
      patient.id,
    ]);
    expect(rows.every(({ actor }) => actor.startsWith('key:'))).toBe(true);
  });

  test('that cannot be written keeps a patient unshown, and reports the failure when it can', async () => {
    const { store } = gateway;
    const failing = await createTestGateway({
      store: {
        ...store,
        call: (statement) =>
          JSON.stringify(statement.toOperationNode()).includes(
            'add_audit_entries',
          )
            ? Promise.reject(new Error('the disk is full'))
            : store.call(statement),
      },
    });
    const owner = await gateway.addAccount();
    const person = newPerson();
    const url = `patient?facilityId=${owner.facilityId}`;
    const { id } = (await owner.call('POST', url, person)).json();
    const headers = { 'x-api-key': owner.apiKey };
    const answer = await failing.app.inject({
      url: `/medical/v1/patient/${id}`,
      headers,
    });
    expect(answer.statusCode).toBe(500);
    expect(answer.body).not.toContain(person.lastName);
    const { rows } = await store.asAccount(owner.accountId, (tx) =>
      sql`select operation, outcome from audit_entry where patient_id = ${id} order by id`.execute(
        tx.db,
      ),
    );
    expect(rows).toEqual([
      { operation: 'createPatient', outcome: '201' },
      { operation: 'getPatient', outcome: '500' },
    ]);
    await failing.app.close();
  });

  test('cannot be changed by the application', async () => {
    const change = (statement: string) =>
      gateway.store.asAccount(account.accountId, (tx) =>
        sql.raw(statement).execute(tx.db),
      );
    await expect(
      change("update audit_entry set outcome = '200'"),
    ).rejects.toMatchObject({ code: '42501' });
    await expect(change('delete from audit_entry')).rejects.toMatchObject({
      code: '42501',
    });
  });
});
