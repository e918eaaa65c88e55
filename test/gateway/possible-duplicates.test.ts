import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PossibleDuplicateResponse } from '../../src/contract/possible-duplicates.ts';
import {
  compareNow,
  patientComparing,
} from '../../src/exchange/people/possible-duplicates/comparing.ts';
import {
  createTestGateway,
  newPerson,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';
import { querySql } from '../support/postgres-tools.ts';
import { takeUp } from '../support/take-up.ts';

let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
});
afterAll(() => gateway.close());

const home = {
  addressLine1: '12 Elm St',
  city: 'Boston',
  state: 'MA',
  zip: '02115',
};
/** A person whose names neither look nor sound like those of the others. */
let count = 0;
const someone = (changes: object = {}) => {
  const letters = [...String(++count)]
    .map((digit) => 'bdflmnprsk'[Number(digit)] ?? '')
    .map((letter) => `${letter}a${letter}o${letter}`)
    .join('');
  const contact = [{ phone: `61720001${String(count).padStart(2, '0')}` }];
  return newPerson({
    firstName: `Quil${letters}`,
    lastName: `Zor${letters}`,
    address: [home],
    contact,
    ...changes,
  });
};
const add = async (person: object, by = account): Promise<string> =>
  (await by.call('POST', `patient?facilityId=${by.facilityId}`, person)).json()
    .id;
const compare = () => takeUp(patientComparing({ store: gateway.store }));
const listed = async (
  query: string,
  by = account,
): Promise<PossibleDuplicateResponse[]> =>
  (await by.call('GET', `possible-duplicate?${query}`)).json()
    .possibleDuplicates;
const pairOf = async (person: object, change: object) => {
  const ids = [await add(person), await add({ ...person, ...change })];
  await compare();
  return ids.sort();
};

describe('possible duplicates', () => {
  test('are found soon after a patient is created, with what agrees; twins and strangers are not', async () => {
    const person = someone({ dob: '1985-12-10' });
    const ids = await pairOf(person, { dob: '1985-10-12' });
    const twin = await add({ ...person, firstName: 'Beatrice' });
    await add(someone({ dob: '1985-12-10' }));
    await compare();
    const [pair, ...others] = await listed(`patientId=${ids[0]}`);
    expect(pair).toMatchObject({
      status: 'open',
      patientIds: ids,
      grade: 'certain',
      score: 0.7,
      agrees: [
        'firstName',
        'lastName',
        'genderAtBirth',
        'zip',
        'address',
        'phone',
      ],
    });
    expect(others).toEqual([]);
    expect(await listed(`patientId=${twin}`)).toEqual([]);
  });

  test('include two who moved, and two who match by the rule for sources but not by the one for patients', async () => {
    const moved = await pairOf(someone(), {
      address: [{ ...home, addressLine1: '9 Oak Ave', zip: '80202' }],
      contact: [],
    });
    expect(await listed(`patientId=${moved[0]}`)).toMatchObject([
      { grade: 'probable', score: 0.6 },
    ]);
    const person = someone();
    const named = await pairOf(person, {
      firstName: `${person.firstName} Ann`,
    });
    expect(await listed(`patientId=${named[0]}`)).toMatchObject([
      { grade: 'certain', score: 0.8 },
    ]);
  });

  test('of another account are never compared', async () => {
    const other = await gateway.addAccount();
    const person = someone();
    const mine = await add(person);
    const theirs = await add({ ...person, lastName: 'Zorro' }, other);
    await compare();
    expect([
      await listed(`patientId=${mine}`),
      await listed(`patientId=${theirs}`, other),
    ]).toEqual([[], []]);
  });

  test('are no longer listed once a correction makes them two, unless somebody has decided', async () => {
    const person = someone();
    const [first = '', second = ''] = await pairOf(person, {
      address: [{ ...home, zip: '80202' }],
      contact: [],
    });
    const correct = (id: string) =>
      account.call('PUT', `patient/${id}`, someone());
    await correct(second);
    await compare();
    expect(await listed(`patientId=${first}`)).toEqual([]);

    const [third = '', fourth = ''] = await pairOf(someone(), {
      contact: [],
      genderAtBirth: 'O',
    });
    const [pair] = await listed(`patientId=${third}`);
    await account.call('POST', `possible-duplicate/${pair?.id}/refuse`);
    await correct(fourth);
    await compare();
    expect(await listed(`patientId=${third}`)).toMatchObject([
      { id: pair?.id, status: 'refused' },
    ]);
  });

  test('are found although one patient of the round cannot be compared', async () => {
    const broken = await add(someone({ dob: '2000-01-08' }));
    // Nothing writes a number there; it stands for any row that the rules
    // cannot read.
    await gateway.store.asSystem((tx) =>
      sql`update patient set personal_identifiers = '[{"type": "ssn", "value": 7}]' where id = ${broken}`.execute(
        tx.db,
      ),
    );
    const person = someone();
    const first = await add(person);
    await add({ ...person, genderAtBirth: 'O' });
    await expect(compare()).rejects.toThrow();
    expect(await listed(`patientId=${first}`)).toHaveLength(1);
    await account.call('DELETE', `patient/${broken}`);
    await compare();
  });

  test('go with either patient', async () => {
    const [first, second] = await pairOf(someone(), {
      contact: [],
      genderAtBirth: 'O',
    });
    await account.call('DELETE', `patient/${second}`);
    await compare();
    expect(await listed(`patientId=${first}`)).toEqual([]);
  });

  test('are found among more people of one birth date than are compared', async () => {
    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        count: number;
      }>`insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids)
        select gen_random_uuid(), ${account.accountId}, array['Anyone'], array['Whoever'], '1980-04-05', 'F', '[]', '{}'
        from generate_series(1, 150) returning 1 as count`.execute(tx.db),
    );
    expect(rows).toHaveLength(150);
    const ids = await pairOf(someone(), { contact: [], genderAtBirth: 'O' });
    expect(await listed(`patientId=${ids[0]}`)).toHaveLength(1);
    expect(await compare()).toBe(0);
    await gateway.store.asSystem((tx) =>
      sql`delete from patient where first_names = array['Anyone']`.execute(
        tx.db,
      ),
    );
  });
});

describe('a decision', () => {
  test('is recorded with its time, audited, and kept when the pair is found again; nothing is merged', async () => {
    const person = someone();
    const ids = await pairOf(person, { contact: [], genderAtBirth: 'O' });
    const [found] = await listed(`patientId=${ids[0]}`);
    const before = await Promise.all(
      ids.map(async (id) =>
        (await account.call('GET', `patient/${id}`)).json(),
      ),
    );

    const decided = (
      await account.call('POST', `possible-duplicate/${found?.id}/accept`)
    ).json();
    expect(decided).toMatchObject({
      status: 'accepted',
      decidedAt: expect.any(String),
    });
    expect(decided.message).toContain('Nothing was merged');
    await account.call('PUT', `patient/${ids[0]}`, {
      ...person,
      contact: [{ phone: '6172009999' }],
    });
    await compare();
    const seen = (
      await account.call('GET', `possible-duplicate/${found?.id}`)
    ).json();
    expect(seen).toMatchObject({
      status: 'accepted',
      decidedAt: decided.decidedAt,
    });
    expect(seen.patients.map(({ id }: { id: string }) => id)).toEqual(ids);
    const after = (await account.call('GET', `patient/${ids[1]}`)).json();
    expect(after).toEqual(before[1]);

    const { rows } = await gateway.store.asSystem((tx) =>
      sql<{
        operation: string;
        patient: string;
      }>`select operation, patient_id as patient from audit_entry
        where target_id = ${found?.id}`.execute(tx.db),
    );
    const patientsOf = (operation: string) =>
      rows
        .filter((row) => row.operation === operation)
        .map(({ patient }) => patient);
    expect(patientsOf('acceptPossibleDuplicate')).toEqual([ids[0]]);
    expect(patientsOf('getPossibleDuplicate').sort()).toEqual(ids);
  });
});

describe('the look-up of one patient', () => {
  const OTHERS = 5_000;
  /** Rows of patients that it may read. */
  const READ_MAX = 50;
  const ssn = (value: number) =>
    ({ type: 'ssn', value: String(value) }) as const;

  test('reads as much in a large account as in a small one, and finds who has the same identifier', async () => {
    const large = await gateway.addAccount();
    const read = await gateway.store.asAccount(large.accountId, async (tx) => {
      await sql`insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids,
          personal_identifiers)
        select gen_random_uuid(), ${large.accountId}, array['Quil' || n], array['Zor' || n], date '1930-01-01' + n, 'U', '[]', '{}',
          jsonb_build_array(jsonb_build_object('type', 'ssn', 'value', (520110000 + n)::text))
        from generate_series(1, ${OTHERS}::integer) n`.execute(tx.db);
      // Statistics without the rows of a transaction under way, as autovacuum
      // may take them at any time.
      await querySql(gateway.databaseUrl, 'analyze patient');
      const { rows: known } = await sql<{ id: string }>`
        select id from patient where personal_identifiers -> 0 ->> 'value' = '520110007'`.execute(
        tx.db,
      );
      const readSoFar = async () => {
        const { rows } = await sql<{ read: number }>`
          select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
          where relname = 'patient'`.execute(tx.db);
        return rows[0]?.read ?? Number.NaN;
      };
      const before = await readSoFar();
      const found = await compareNow(tx, {
        id: known[0]?.id ?? '',
        accountId: large.accountId,
        firstNames: ['Quil7'],
        lastNames: ['Zor7'],
        dob: '1971-03-04',
        gender: 'U',
        addresses: [],
        contacts: [],
        personalIdentifiers: [ssn(520110009)],
      });
      expect(found).toHaveLength(1);
      return (await readSoFar()) - before;
    });
    expect(read).toBeLessThan(READ_MAX);
  });

  test('names in the response who has the same identifier and another date of birth', async () => {
    const person = someone({ personalIdentifiers: [ssn(520_11_6001)] });
    const id = await add(person);
    const response = await account.call(
      'POST',
      `patient?facilityId=${account.facilityId}`,
      {
        ...person,
        dob: '1951-02-17',
      },
    );
    expect(response.json()).toMatchObject({
      possibleDuplicates: [{ patientId: id }],
    });
  });
});
