import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { listPatients, PATIENT_ORDER } from '../../src/exchange/people/patients/patient-store.ts';
import { searchIndexing } from '../../src/exchange/people/patients/search-indexing.ts';
import { createStore, type Store } from '../../src/exchange/platform/database/database.ts';
import { createTestStore, type TestStore } from '../support/postgres.ts';
import { takeUp } from '../support/take-up.ts';

const ONE = '0198a000-0000-7000-8000-000000000001';
const OTHER = '0198a000-0000-7000-8000-000000000002';
let database: TestStore;
let store: Store;
let client: pg.Client;

beforeAll(async () => {
  database = await createTestStore();
  ({ store } = database);
  for (const id of [ONE, OTHER])
    await store.asSystem((tx) => insertAccount(tx, { id, name: 'Test', settings: {} }));
  client = new pg.Client({ connectionString: database.databaseUrl });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.close();
});

/** Adds patients whose last name is `name` and a number. */
async function add(account: string, name: string, count = 1): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, contacts, facility_ids)
     select gen_random_uuid(), $1, '{Élodie}', array[$2 || n], '1977-07-07', 'F',
       jsonb_build_array(jsonb_build_object('city', 'Reno', 'zip', lpad(n::text, 5, '0'))),
       '[{"phone": "5085550188", "email": "o\\"neil\\\\x@example.org"}]', '{}'
     from generate_series(1, $3::integer) n returning id`,
    [account, name, count],
  );
  return rows.map(({ id }) => id);
}
const index = () => takeUp(searchIndexing({ store }), 20_000);
const found = (words: string[], account = ONE) =>
  store.asAccount(account, async (tx) => {
    const page = await listPatients(tx, { words }, { sort: PATIENT_ORDER.default, count: 100 });
    expect(page.items.length).toBe(Math.min(page.total, 100));
    return page.items.map(({ id }) => id).sort();
  });

describe('searching patients', () => {
  test('finds the same before and after they are indexed, in any case, and no names of members', async () => {
    const [id] = await add(ONE, 'Quist');
    const check = async () => {
      for (const words of [
        ['quist1'],
        ['ÉLODIE', 'QUIST'],
        ['quist', '77-07'],
        ['quist', 'reno', '0001'],
        ['quist', '5550188'],
        ['quist', 'o"NEIL\\x@'],
        ['quist', 'q'],
      ])
        expect(await found(words), words.join(' ')).toEqual([id]);
      for (const none of ['.*', '%', 'city', "' or true --", 'quist2'])
        expect(await found(['quist', none]), none).toEqual([]);
    };
    await check();
    expect(await index()).toBe(1);
    await check();
  });

  test('finds a changed patient by what it is now, at once and when it is indexed again', async () => {
    const [id] = await add(ONE, 'Before');
    await index();
    await client.query(`update patient set last_names = '{After}' where id = $1`, [id]);
    for (const again of [true, false]) {
      expect(await found(['before1'])).toEqual([]);
      expect(await found(['after'])).toEqual([id]);
      if (again) expect(await index()).toBe(1);
    }
  });

  test('finds a patient that was changed while it was indexed', async () => {
    const [id] = await add(ONE, 'Racing');
    await client.query('begin');
    await client.query(`update patient set last_names = '{Arrived}' where id = $1`, [id]);
    expect(await index()).toBe(0);
    await client.query('commit');
    expect(await index()).toBe(1);
    expect(await found(['arrived'])).toEqual([id]);
  });

  test('finds no patient of another account, indexed or not', async () => {
    const mine = await add(ONE, 'Shared');
    const theirs = await add(OTHER, 'Shared');
    for (const again of [true, false]) {
      expect(await found(['shared'], ONE)).toEqual(mine);
      expect(await found(['shared'], OTHER)).toEqual(theirs);
      if (again) await index();
    }
  });

  test('keeps nothing of a deleted patient', async () => {
    const [id] = await add(ONE, 'Gone');
    await index();
    await client.query('delete from patient where id = $1', [id]);
    expect(await found(['gone1'])).toEqual([]);
    const { rows } = await client.query('select from patient_search where patient_id = $1', [id]);
    expect(rows).toEqual([]);
  });

  test('reads no table from its beginning to its end', async () => {
    await add(ONE, 'Crowd', 10_000);
    await index();
    await client.query('vacuum analyze patient, patient_search');
    // A connection of its own, because its statistics include what it did shortly before.
    const reader = createStore({ databaseUrl: database.databaseUrl, poolMax: 1 });
    const reading = reader.asAccount(ONE, async (tx) => {
      const page = await listPatients(
        tx,
        { words: ['crowd777', 'reno'] },
        { sort: PATIENT_ORDER.default, count: 5 },
      );
      expect(page.total).toBe(11);
      const { rows } = await sql<{ table: string; scans: number }>`
        select relname as table, seq_scan as scans from pg_stat_xact_user_tables
        where relname in ('patient', 'patient_search') order by 1
      `.execute(tx.db);
      return rows;
    });
    expect(await reading.finally(() => reader.close())).toEqual([
      { table: 'patient', scans: 0 },
      { table: 'patient_search', scans: 0 },
    ]);
  });
});
