import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import {
  listPatients,
  PATIENT_ORDER,
} from '../../src/exchange/people/patients/patient-store.ts';
import { searchIndexing } from '../../src/exchange/people/patients/search-indexing.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { storeTest } from '../support/fixtures.ts';
import { takeUp } from '../support/take-up.ts';

const ONE = '0198a000-0000-7000-8000-000000000001';
const OTHER = '0198a000-0000-7000-8000-000000000002';

const test = storeTest.extend(
  'patients',
  { scope: 'file' },
  async ({ database, store }, { onCleanup }) => {
    for (const id of [ONE, OTHER])
      await store.asSystem((tx) =>
        insertAccount(tx, { id, name: 'Test', settings: {} }),
      );
    const client = new pg.Client({ connectionString: database.databaseUrl });
    await client.connect();
    onCleanup(() => client.end());
    /** Adds patients whose last name is `name` and a number. */
    async function add(
      account: string,
      name: string,
      count = 1,
    ): Promise<string[]> {
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
        const page = await listPatients(
          tx,
          { words },
          { sort: PATIENT_ORDER.default, count: 100 },
        );
        expect(page.items.length).toBe(Math.min(page.total, 100));
        return page.items.map(({ id }) => id).sort();
      });
    return { client, add, index, found };
  },
);

describe('searching patients', () => {
  test('finds the same before and after they are indexed, in any case, and no names of members', async ({
    patients,
  }) => {
    const [id] = await patients.add(ONE, 'Quist');
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
        expect(await patients.found(words), words.join(' ')).toEqual([id]);
      for (const none of ['.*', '%', 'city', "' or true --", 'quist2'])
        expect(await patients.found(['quist', none]), none).toEqual([]);
    };
    await check();
    expect(await patients.index()).toBe(1);
    await check();
  });

  test('finds a changed patient by what it is now, at once and when it is indexed again', async ({
    patients,
  }) => {
    const [id] = await patients.add(ONE, 'Before');
    await patients.index();
    await patients.client.query(
      `update patient set last_names = '{After}' where id = $1`,
      [id],
    );
    for (const again of [true, false]) {
      expect(await patients.found(['before1'])).toEqual([]);
      expect(await patients.found(['after'])).toEqual([id]);
      if (again) expect(await patients.index()).toBe(1);
    }
  });

  test('finds a patient that was changed while it was indexed', async ({
    patients,
  }) => {
    const [id] = await patients.add(ONE, 'Racing');
    await patients.client.query('begin');
    await patients.client.query(
      `update patient set last_names = '{Arrived}' where id = $1`,
      [id],
    );
    expect(await patients.index()).toBe(0);
    await patients.client.query('commit');
    expect(await patients.index()).toBe(1);
    expect(await patients.found(['arrived'])).toEqual([id]);
  });

  test('finds no patient of another account, indexed or not', async ({
    patients,
  }) => {
    const mine = await patients.add(ONE, 'Shared');
    const theirs = await patients.add(OTHER, 'Shared');
    for (const again of [true, false]) {
      expect(await patients.found(['shared'], ONE)).toEqual(mine);
      expect(await patients.found(['shared'], OTHER)).toEqual(theirs);
      if (again) await patients.index();
    }
  });

  test('keeps nothing of a deleted patient', async ({ patients }) => {
    const [id] = await patients.add(ONE, 'Gone');
    await patients.index();
    await patients.client.query('delete from patient where id = $1', [id]);
    expect(await patients.found(['gone1'])).toEqual([]);
    const { rows } = await patients.client.query(
      'select from patient_search where patient_id = $1',
      [id],
    );
    expect(rows).toEqual([]);
  });

  test('reads no table from its beginning to its end', async ({
    database,
    patients,
  }) => {
    await patients.add(ONE, 'Crowd', 10_000);
    await patients.index();
    await patients.client.query('vacuum analyze patient, patient_search');
    // A connection of its own, because its statistics include what it did
    // shortly before.
    const reader = createStore({
      databaseUrl: database.databaseUrl,
      poolMax: 1,
    });
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
