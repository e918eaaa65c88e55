import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PATIENT_LISTS_MAX } from '../../src/contract/bounds.ts';
import {
  createTestGateway,
  newPerson,
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

const create = (body: unknown) =>
  account.call('POST', `patient?facilityId=${account.facilityId}`, body);
const match = (body: unknown) => account.call('POST', 'patient/match', body);
const address = (number: number) => ({
  addressLine1: `${number} Beacon Street`,
  city: 'Boston',
  state: 'MA',
  zip: '02108',
});
const addresses = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => address(from + index));

describe('a request that is wrong many times', () => {
  test.each(['address', 'contact', 'personalIdentifiers'])(
    'with tens of thousands of entries in %s is one mistake',
    async (member) => {
      const answer = await match(
        newPerson({ [member]: Array.from({ length: 80_000 }, () => ({})) }),
      );
      expect(answer.statusCode).toBe(400);
      expect(answer.json().errors).toEqual([
        {
          path: member,
          message: expect.stringMatching(/^must have at most \d+ entries$/),
        },
      ]);
    },
  );

  test('with thousands of unknown systems, or of ids at one system, is one mistake', async () => {
    const many = Array.from({ length: 10_000 }, (_, index) => `k${index}`);
    const unknown = Object.fromEntries(many.map((key) => [key, ['1']]));
    for (const additionalIdentifiers of [unknown, { quest: many }]) {
      const answer = await match(newPerson({ additionalIdentifiers }));
      expect([answer.statusCode, answer.json().errors.length]).toEqual([
        400, 1,
      ]);
    }
  });

  test('with too many keys of metadata is one mistake', async () => {
    const metadata = Object.fromEntries(
      Array.from({ length: 20_000 }, (_, index) => [`k${index}`, 1]),
    );
    const answer = await create(
      newPerson({ networkQuery: { sources: ['hie'], metadata } }),
    );
    expect(answer.json().errors).toEqual([
      {
        path: 'networkQuery.metadata',
        message: 'metadata must have at most 50 entries',
      },
    ]);
  });

  test('is answered with the first hundred mistakes and the number of the others', async () => {
    const answer = await match(
      newPerson({ address: Array.from({ length: 100 }, () => ({})) }),
    );
    expect(answer.json().errors).toHaveLength(100);
    expect(answer.json().detail).toMatch(/, and 300 more$/);
    const unknown = Array.from(
      { length: 500 },
      (_, index) =>
        `0198a000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    );
    const { id } = (await create(newPerson())).json();
    const facilities = await account.call('POST', `patient/${id}/facility`, {
      facilityIds: unknown,
    });
    expect([facilities.statusCode, facilities.json().errors.length]).toEqual([
      400, 100,
    ]);
  });

  test.each([
    ['dob', 'x'.repeat(200_000)],
    ['dob', { long: 'x'.repeat(200_000) }],
    ['address', [{ ...address(1), zip: '1'.repeat(200_000) }]],
    ['contact', [{ phone: '1'.repeat(200_000) }]],
    ['additionalIdentifiers', { ['x'.repeat(200_000)]: [] }],
    ['additionalIdentifiers', { quest: ['x'.repeat(200_000)] }],
    ['networkQuery', { sources: { ['x'.repeat(200_000)]: true } }],
    [
      'networkQuery',
      { sources: ['hie'], metadata: { ['x'.repeat(200_000)]: '' } },
    ],
  ])('does not get a long %s back', async (member, value) => {
    const answer = await create(newPerson({ [member]: value }));
    expect(answer.statusCode).toBe(400);
    expect(answer.body.length).toBeLessThan(2_000);
  });
});

describe('a key that may not use an operation', () => {
  test('is refused before its body is looked at', async () => {
    const token = (await account.call('POST', 'token/embed')).json().token;
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/medical/v1/patient/match',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
      },
      payload: '{"not": JSON',
    });
    expect(answer.statusCode).toBe(403);
  });
});

describe('a match', () => {
  const { address: most } = PATIENT_LISTS_MAX;

  test('unites addresses up to the bound, and beyond it is refused and changes nothing', async () => {
    const person = newPerson();
    const first = await create({ ...person, address: addresses(0, most - 1) });
    expect(first.statusCode).toBe(201);
    expect(
      (await create({ ...person, address: addresses(most, 1) })).statusCode,
    ).toBe(200);
    const refused = await create({
      ...person,
      address: addresses(most + 1, 2),
    });
    const { id } = first.json();
    const message = `patient ${id} would have ${most + 2} addresses, but at most ${most} are allowed; update the patient with those that are still valid`;
    expect([refused.statusCode, refused.json().errors]).toEqual([
      400,
      [{ path: 'address', message }],
    ]);
    expect(
      (await account.call('GET', `patient/${id}`)).json().address,
    ).toHaveLength(most);
    // What is known already needs no room.
    expect(
      (await create({ ...person, address: addresses(0, 1) })).statusCode,
    ).toBe(200);
    const updated = await account.call('PUT', `patient/${id}`, {
      ...person,
      address: addresses(most, 1),
    });
    expect(updated.json().address).toHaveLength(1);
    expect(
      (await create({ ...person, address: addresses(most + 1, 2) })).json()
        .address,
    ).toHaveLength(3);
  });

  test('unites contacts and identifiers up to theirs', async () => {
    const person = newPerson();
    const licences = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        type: 'driversLicense',
        state: 'MA',
        value: `S${from + index}`,
      }));
    const contacts = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => ({
        email: `p${from + index}@example.org`,
      }));
    await create({
      ...person,
      contact: contacts(0, 100),
      personalIdentifiers: licences(0, 50),
    });
    const refused = [
      await create({ ...person, contact: contacts(100, 1) }),
      await create({ ...person, personalIdentifiers: licences(50, 1) }),
    ];
    expect(refused.map((answer) => answer.json().errors[0].path)).toEqual([
      'contact',
      'personalIdentifiers',
    ]);
  });

  test('unites additional identifiers up to the bound of each system', async () => {
    const person = newPerson();
    const ids = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => `i${from + index}`);
    const { id } = (
      await create({ ...person, additionalIdentifiers: { quest: ids(0, 50) } })
    ).json();
    const other = await create({
      ...person,
      additionalIdentifiers: { quest: ids(0, 50), canvas: ids(0, 50) },
    });
    expect(other.statusCode).toBe(200);
    const refused = await create({
      ...person,
      additionalIdentifiers: { quest: ids(50, 1) },
    });
    const message = `patient ${id} would have 51 additional identifiers of one system, but at most 50 are allowed; update the patient with those that are still valid`;
    expect(refused.json().errors).toEqual([
      { path: 'additionalIdentifiers', message },
    ]);
    const { possibleDuplicates: _found, ...united } = other.json();
    expect((await account.call('GET', `patient/${id}`)).json()).toEqual(united);
  });
});
