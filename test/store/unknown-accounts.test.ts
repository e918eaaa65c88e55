import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import {
  findPatient,
  findPatients,
  lockPatient,
} from '../../src/exchange/people/patients/patient-store.ts';
import type {
  AccountTx,
  Store,
} from '../../src/exchange/platform/database/database.ts';
import { storeTest as test } from '../support/fixtures.ts';
import { querySql } from '../support/postgres-tools.ts';

const PATIENTS = 2_000;

const addPatients = (tx: AccountTx) =>
  sql`
  insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids, personal_identifiers)
  select gen_random_uuid(), ${tx.accountId}, array['A' || n], array['B' || n], date '1930-01-01' + n, 'U', '[]', '{}', '[]'
  from generate_series(1, ${PATIENTS}::integer) n`.execute(tx.db);

async function addAccount(store: Store): Promise<string> {
  const id = crypto.randomUUID();
  await store.asSystem((tx) =>
    insertAccount(tx, { id, name: 'Test', settings: {} }),
  );
  return id;
}

describe('in an account that PostgreSQL’s statistics do not know, while they know every other one', () => {
  test.for<[string, (tx: AccountTx, id: string) => Promise<unknown>]>([
    ['found', findPatient],
    ['found among others', (tx, id) => findPatients(tx, [id])],
    ['locked', lockPatient],
  ])(
    'a patient is %s by reading its row alone',
    async ([, read], { store, database }) => {
      const known = await addAccount(store);
      const unknown = await addAccount(store);
      await store.asAccount(known, addPatients);
      const rowsRead = await store.asAccount(unknown, async (tx) => {
        await addPatients(tx);
        // Statistics without the rows of a transaction under way, as autovacuum
        // may take them at any time.
        await querySql(database.databaseUrl, 'analyze patient');
        const { rows } = await sql<{
          id: string;
        }>`select id from patient limit 1`.execute(tx.db);
        const readSoFar = async () => {
          const { rows: counts } = await sql<{ read: number }>`
          select (seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
          where relname = 'patient'`.execute(tx.db);
          return counts[0]?.read ?? Number.NaN;
        };
        const before = await readSoFar();
        expect(await read(tx, rows[0]?.id ?? '')).toBeDefined();
        return (await readSoFar()) - before;
      });
      expect(rowsRead).toBe(1);
    },
  );

  test('no policy of an account’s table shows the planner which account it is', async ({
    database,
  }) => {
    const showing = `select tablename from pg_policies where policyname = 'own_account' and tablename <> 'account'
      and (qual !~* 'select +\\(?current_setting' or with_check !~* 'select +\\(?current_setting')`;
    expect(await querySql(database.databaseUrl, showing)).toEqual([]);
  });
});
