import { sql } from 'kysely';
import pg from 'pg';
import { describe, expect } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import {
  insertCohort,
  listCohorts,
} from '../../src/exchange/people/cohorts/cohort-store.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { storeTest as test } from '../support/fixtures.ts';

const ONE = '0198a000-0000-7000-8000-000000000001';
const OTHER = '0198a000-0000-7000-8000-000000000002';

test.beforeAll(async ({ store }) => {
  for (const id of [ONE, OTHER]) {
    await store.asSystem((tx) =>
      insertAccount(tx, { id, name: 'Test', settings: {} }),
    );
    await store.asAccount(id, (tx) => insertCohort(tx, cohort('Same name')));
  }
});

function cohort(name: string) {
  const rest = {
    description: '',
    color: 'red',
    purposeOfUse: 'treatment',
    settings: {},
  } as const;
  return { id: crypto.randomUUID(), name, ...rest } as unknown as Parameters<
    typeof insertCohort
  >[1];
}

describe('row-level security', () => {
  test('shows an account its own rows only, without any filter in the statement', async ({
    store,
  }) => {
    expect(await store.asAccount(ONE, (tx) => listCohorts(tx))).toHaveLength(1);
    const { rows } = await store.asAccount(ONE, (tx) =>
      sql<{ account_id: string }>`select account_id from cohort`.execute(tx.db),
    );
    expect(rows).toEqual([{ account_id: ONE }]);
  });

  test('lets an account neither write for another one nor change its rows', async ({
    store,
  }) => {
    const write = store.asAccount(ONE, (tx) =>
      insertCohort({ ...tx, accountId: OTHER }, cohort('Smuggled')),
    );
    await expect(write).rejects.toMatchObject({ code: '42501' });
    await store.asAccount(ONE, (tx) =>
      sql`update cohort set name = 'Taken'`.execute(tx.db),
    );
    const names = await store.asAccount(OTHER, (tx) => listCohorts(tx));
    expect(names.map(({ name }) => name)).toEqual(['Same name']);
  });

  test.for<[string, string, string]>([
    [
      'patient',
      'id, first_names, last_names, dob, gender, addresses, facility_ids',
      `gen_random_uuid(), '{A}', '{B}', '1980-01-01', 'F', '[]', '{}'`,
    ],
    [
      'patient_identity_key',
      'key, patient_id',
      `uuid_send(account), gen_random_uuid()`,
    ],
    ['patient_to_match', 'patient_id', 'gen_random_uuid()'],
    ['patient_to_compare', 'patient_id', 'gen_random_uuid()'],
    ['patient_search', 'patient_id', 'gen_random_uuid()'],
    [
      'bulk_patient',
      'request_id, patient_id, first_row',
      'gen_random_uuid(), gen_random_uuid(), 1',
    ],
    [
      'cohort_member',
      'cohort_id, patient_id',
      'gen_random_uuid(), gen_random_uuid()',
    ],
  ])(
    'refuses a statement that writes one row of another account among its own: %s',
    async ([table, columns, values], { store }) => {
      const insert = (accounts: string[]) =>
        store.asAccount(ONE, (tx) =>
          sql`insert into ${sql.raw(table)} (account_id, ${sql.raw(columns)})
          select account, ${sql.raw(values)} from unnest(${accounts}::uuid[]) account`.execute(
            tx.db,
          ),
        );
      await expect(insert([ONE, OTHER])).rejects.toMatchObject({
        code: '42501',
      });
      // A member needs a cohort and a patient; all others could be written.
      if (table !== 'cohort_member') await insert([ONE]);
    },
  );

  test('shows the application’s role nothing when no account is set, in any table', async ({
    database,
  }) => {
    const client = new pg.Client({ connectionString: database.databaseUrl });
    await client.connect();
    const { rows: tables } = await client.query<{ table_name: string }>(
      `select distinct table_name from information_schema.columns
       where table_schema = 'public' and column_name = 'account_id'`,
    );
    expect(tables.length).toBeGreaterThan(10);
    await client.query('set role exchange_app');
    for (const { table_name: table } of [
      ...tables,
      { table_name: 'account' },
    ]) {
      // Where there are rows, the policy cannot be decided at all without the
      // setting; an empty one is no account.
      const refused = await client.query(`select from ${table}`).then(
        ({ rowCount }) => rowCount !== 0 && 'shown',
        ({ message }) => message,
      );
      if (refused !== false || ['account', 'cohort'].includes(table))
        expect(refused, table).toMatch(
          /app\.account_id|uuid|permission denied/,
        );
    }
    await client.end();
  });

  test('guards every table that has an account, against its owner too', async ({
    store,
  }) => {
    const { rows } = await store.asSystem((tx) =>
      sql<{ relname: string }>`
        select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
        where a.attname = 'account_id' and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
          and not (c.relrowsecurity and c.relforcerowsecurity)`.execute(tx.db),
    );
    expect(rows).toEqual([]);
  });

  test('does not outlive its transaction', async ({ database }) => {
    const single = createStore({
      databaseUrl: database.databaseUrl,
      poolMax: 1,
    });
    await single.asAccount(ONE, async () => undefined);
    expect(await single.asAccount(OTHER, (tx) => listCohorts(tx))).toHaveLength(
      1,
    );
    const { rows } = await single.asSystem((tx) =>
      sql`select id from cohort`.execute(tx.db),
    );
    expect(rows).toHaveLength(2);
    await single.close();
  });
});
