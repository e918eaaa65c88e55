import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const UNKNOWN = '0198a000-0000-7000-8000-000000000000';
const address = {
  addressLine1: '220 Clarendon Street',
  city: 'Boston',
  state: 'ma',
  zip: '02116',
};
const clinic = (changes: Record<string, unknown> = {}) => ({
  name: ' North clinic ',
  npi: '1245319599',
  address,
  ...changes,
});

let gateway: TestGateway;
let account: TestAccount;
let other: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  [account, other] = [await gateway.addAccount(), await gateway.addAccount()];
});
afterAll(() => gateway.close());

const patientOf = async (owner: TestAccount, changes = {}) =>
  (
    await owner.call(
      'POST',
      `patient?facilityId=${owner.facilityId}`,
      newPerson(changes),
    )
  ).json();

describe('a facility', () => {
  test('is created with an OID and an eTag of its own, read, replaced and deleted', async () => {
    const made = await account.call(
      'POST',
      'facility',
      clinic({ tin: '04-2103580' }),
    );
    expect(made.statusCode).toBe(201);
    const facility = made.json();
    expect(facility).toMatchObject({
      name: 'North clinic',
      npi: '1245319599',
      tin: '04-2103580',
      active: true,
      oid: expect.stringMatching(/^2\.25\.[1-9]\d+$/),
      address: { state: 'MA', country: 'USA' },
    });
    expect(made.headers.etag).toBe(`"${facility.eTag}"`);
    const url = `facility/${facility.id}`;
    expect((await account.call('GET', url)).json()).toEqual(facility);

    const same = clinic({ tin: '04-2103580', npi: undefined });
    expect((await account.call('PUT', url, same)).json().eTag).toBe(
      facility.eTag,
    );
    const changed = await account.call('PUT', url, {
      ...clinic(),
      name: 'South clinic',
      active: false,
    });
    expect(changed.json()).toMatchObject({
      name: 'South clinic',
      active: false,
      oid: facility.oid,
    });
    expect(Object.keys(changed.json())).not.toContain('tin');
    expect(changed.json().eTag).not.toBe(facility.eTag);

    for (const method of ['PUT', 'DELETE'] as const) {
      const body = method === 'PUT' ? clinic() : undefined;
      const late = await account.call(method, url, body, {
        'if-match': facility.eTag,
      });
      expect([late.statusCode, late.json().name]).toEqual([
        412,
        'PRECONDITION_FAILED',
      ]);
    }
    expect(
      (await account.call('PUT', url, clinic({ eTag: facility.eTag })))
        .statusCode,
    ).toBe(412);
    const gone = await account.call('DELETE', url, undefined, {
      'if-match': changed.json().eTag,
    });
    expect([gone.statusCode, gone.body]).toEqual([204, '']);
    expect((await account.call('GET', url)).statusCode).toBe(404);
  });

  test.each([
    [
      '123456789',
      'npi: "123456789" has 9 digits; expected exactly 10 digits without separators',
    ],
    [
      '1234567890',
      'npi: "1234567890" is not a valid National Provider Identifier: its check digit is wrong',
    ],
    [
      '123-456-7893',
      'npi: "123-456-7893" has 10 digits; expected exactly 10 digits without separators: 1234567893',
    ],
    [undefined, 'npi: npi is required and must have 10 digits'],
  ])('is not created with the NPI %s', async (npi, detail) => {
    const answer = await account.call('POST', 'facility', clinic({ npi }));
    expect([answer.statusCode, answer.json().detail]).toEqual([400, detail]);
  });

  test('keeps its NPI, which no other facility of the account may have', async () => {
    const facility = (
      await account.call('POST', 'facility', clinic({ npi: '1679576722' }))
    ).json();
    const twin = await account.call(
      'POST',
      'facility',
      clinic({ npi: '1679576722' }),
    );
    expect([twin.statusCode, twin.json().detail]).toEqual([
      400,
      'npi: another facility has the NPI 1679576722',
    ]);
    expect(
      (await other.call('POST', 'facility', clinic({ npi: '1679576722' })))
        .statusCode,
    ).toBe(201);
    const answer = await account.call(
      'PUT',
      `facility/${facility.id}`,
      clinic(),
    );
    expect([answer.statusCode, answer.json().detail]).toEqual([
      400,
      'npi: cannot be changed; the NPI of this facility is 1679576722',
    ]);
  });

  test('of another account, or none, is not found', async () => {
    for (const id of [other.facilityId, UNKNOWN]) {
      for (const [method, body] of [
        ['GET'],
        ['PUT', clinic()],
        ['DELETE'],
      ] as const) {
        const answer = await account.call(method, `facility/${id}`, body);
        expect([answer.statusCode, answer.json().detail]).toEqual([
          404,
          'Facility not found',
        ]);
      }
    }
    expect((await account.call('GET', 'facility/none')).statusCode).toBe(400);
  });

  test('is not deleted while it has patients', async () => {
    const owner = await gateway.addAccount();
    await patientOf(owner);
    const answer = await owner.call('DELETE', `facility/${owner.facilityId}`);
    expect([answer.statusCode, answer.json().detail]).toEqual([
      400,
      'this facility still has 1 patient; move them to another facility or delete them first',
    ]);
  });

  test('is not deleted while a bulk create for it is under way', async () => {
    const owner = await gateway.addAccount();
    expect((await owner.call('POST', 'patient/bulk')).statusCode).toBe(200);
    const answer = await owner.call('DELETE', `facility/${owner.facilityId}`);
    expect([answer.statusCode, answer.json().name]).toEqual([423, 'LOCKED']);
    await gateway.store.asAccount(owner.accountId, (tx) =>
      tx.db.updateTable('bulk_request').set({ status: 'expired' }).execute(),
    );
    expect(
      (await owner.call('DELETE', `facility/${owner.facilityId}`)).statusCode,
    ).toBe(204);
  });

  test('that is being deleted takes no patient, and one that takes a patient is not deleted', async () => {
    for (let round = 0; round < 5; round++) {
      const owner = await gateway.addAccount();
      const [created, deleted] = await Promise.all([
        owner.call(
          'POST',
          `patient?facilityId=${owner.facilityId}`,
          newPerson(),
        ),
        owner.call('DELETE', `facility/${owner.facilityId}`),
      ]);
      expect([
        [201, 400],
        [404, 204],
      ]).toContainEqual([created.statusCode, deleted.statusCode]);
    }
  });
});

describe('the facilities of a patient', () => {
  test('are those that were set, and no others', async () => {
    const patient = await patientOf(account);
    const url = `patient/${patient.id}/facility`;
    expect((await account.call('GET', url)).json().facilities).toMatchObject([
      { id: account.facilityId },
    ]);
    const second = (
      await account.call('POST', 'facility', clinic({ npi: '1003000126' }))
    ).json();
    const set = await account.call('POST', url, {
      facilityIds: [second.id.toUpperCase(), second.id],
    });
    expect([set.statusCode, set.json()]).toEqual([
      200,
      { facilities: [second] },
    ]);
    expect((await account.call('GET', url)).json()).toEqual(set.json());
    expect(
      (await account.call('GET', `patient/${patient.id}`)).json().facilityIds,
    ).toEqual([second.id]);
    const late = await account.call(
      'POST',
      url,
      { facilityIds: [second.id] },
      { 'if-match': patient.eTag },
    );
    expect(late.statusCode).toBe(412);
  });

  test('are refused when one is not there, when there is none, and for an unknown patient', async () => {
    const patient = await patientOf(account);
    const url = `patient/${patient.id}/facility`;
    const set = async (facilityIds: unknown) =>
      (await account.call('POST', url, { facilityIds })).json();
    expect(await set([account.facilityId, other.facilityId])).toMatchObject({
      status: 400,
      detail: `facilityIds[1]: there is no facility ${other.facilityId}`,
    });
    expect(await set([])).toMatchObject({
      status: 400,
      detail: 'facilityIds: at least one facility is required',
    });
    expect(
      (await account.call('GET', `patient/${patient.id}`)).json().facilityIds,
    ).toEqual([account.facilityId]);
    for (const id of [UNKNOWN, (await patientOf(other)).id, uuidv7()]) {
      const body = { facilityIds: [account.facilityId] };
      expect(
        (await account.call('POST', `patient/${id}/facility`, body)).statusCode,
      ).toBe(404);
      expect(
        (await account.call('GET', `patient/${id}/facility`)).statusCode,
      ).toBe(404);
    }
  });
});

describe('a patient is found', () => {
  test('by demographics that match, which creates and changes nothing', async () => {
    const owner = await gateway.addAccount();
    const person = newPerson({ externalId: 'chart-1' });
    expect((await owner.call('POST', 'patient/match', person)).statusCode).toBe(
      404,
    );
    expect((await owner.call('GET', 'patient')).json().meta.itemsInTotal).toBe(
      0,
    );
    const patient = (
      await owner.call('POST', `patient?facilityId=${owner.facilityId}`, person)
    ).json();
    const match = await owner.call('POST', 'patient/match', {
      ...person,
      lastName: person.lastName.toUpperCase(),
      contact: [{ phone: '6175550100' }],
    });
    expect([match.statusCode, match.json(), match.headers.etag]).toEqual([
      200,
      patient,
      `"${patient.eTag}"`,
    ]);
    expect((await owner.call('GET', `patient/${patient.id}`)).json()).toEqual(
      patient,
    );
    const elsewhere = { ...person, address: [{ ...address, zip: '10001' }] };
    expect(
      (await owner.call('POST', 'patient/match', elsewhere)).statusCode,
    ).toBe(404);
    expect(
      (await account.call('POST', 'patient/match', person)).statusCode,
    ).toBe(404);
    const bad = await owner.call('POST', 'patient/match', {
      ...person,
      dob: '1984',
    });
    expect([bad.statusCode, bad.json().errors[0].path]).toEqual([400, 'dob']);
  });

  test('by external id: the newest of several', async () => {
    const externalId = 'chart 7/ü';
    const look = (owner: TestAccount) =>
      owner.call(
        'GET',
        `patient/external-id?externalId=${encodeURIComponent(externalId)}`,
      );
    expect((await look(account)).statusCode).toBe(404);
    await patientOf(account, { externalId });
    const { possibleDuplicates, ...newest } = await patientOf(account, {
      externalId,
    });
    const answer = await look(account);
    expect([answer.statusCode, answer.json()]).toEqual([200, newest]);
    expect(possibleDuplicates).not.toHaveLength(0);
    expect((await look(other)).statusCode).toBe(404);
    const missing = await account.call('GET', 'patient/external-id');
    expect([missing.statusCode, missing.json().detail]).toEqual([
      400,
      'externalId: externalId is required',
    ]);
  });
});
