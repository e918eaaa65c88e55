import { sql } from 'kysely';
import { describe, expect } from 'vitest';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { compareNow } from '../../src/exchange/people/possible-duplicates/comparing.ts';
import type {
  AccountTx,
  Store,
} from '../../src/exchange/platform/database/database.ts';
import { storeTest as test } from '../support/fixtures.ts';
import { querySql } from '../support/postgres-tools.ts';

/** One of twenty is registered under a first of January, as of refugees. */
const addPatients = (tx: AccountTx, count: number, day: string | null) =>
  sql`
  insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids, personal_identifiers)
  select gen_random_uuid(), ${tx.accountId}, array[chr(65 + n % 17) || n], array[chr(65 + n % 23) || n],
    coalesce(${day}::date, case when n % 20 = 0 then make_date(1930 + n % 80, 1, 1) else date '1930-01-01' + n * 7919 % 29000 end),
    'U', '[{"zip": "02115"}]', '{}', '[]'
  from generate_series(1, ${count}::integer) n`.execute(tx.db);

async function addAccount(store: Store): Promise<string> {
  const id = crypto.randomUUID();
  await store.asSystem((tx) =>
    insertAccount(tx, { id, name: 'Test', settings: {} }),
  );
  return id;
}

/** Blocks of all tables and indexes that were asked for until now. */
async function pagesOf(databaseUrl: string): Promise<number> {
  const [row] = (await querySql(
    databaseUrl,
    `select sum(coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0))::integer as pages
     from pg_statio_user_tables`,
  )) as { pages: number }[];
  return row?.pages ?? Number.NaN;
}

async function addPatient(tx: AccountTx, dob: string) {
  const id = crypto.randomUUID();
  await sql`insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids, personal_identifiers)
    values (${id}, ${tx.accountId}, '{Amal}', '{Barre}', ${dob}, 'U', '[]', '{}', '[]')`.execute(
    tx.db,
  );
  return {
    id,
    accountId: tx.accountId,
    firstNames: ['Amal'],
    lastNames: ['Barre'],
    dob,
    gender: 'U' as const,
    addresses: [],
    contacts: [],
    personalIdentifiers: [],
  };
}

describe.each([
  ['of whom one of twenty has a first of January', null],
  ['who are all registered under one day', '1980-01-01'],
])('in an account of many people %s', (_, day) => {
  test.for(['1980-01-01', '1900-01-01'])(
    'a patient born on %s is compared without reading the crowd',
    async (dob, { store, database }) => {
      const pages: number[] = [];
      for (const count of [1_000, 20_000]) {
        const accountId = await addAccount(store);
        await store.asAccount(accountId, async (tx) => {
          await addPatients(tx, count, day);
          await sql`select pg_stat_force_next_flush()`.execute(tx.db);
        });
        await querySql(database.databaseUrl, 'vacuum analyze patient');
        const before = await pagesOf(database.databaseUrl);
        await store.asAccount(accountId, async (tx) => {
          await compareNow(tx, await addPatient(tx, dob));
          await sql`select pg_stat_force_next_flush()`.execute(tx.db);
        });
        pages.push((await pagesOf(database.databaseUrl)) - before);
      }
      // An index may be one page deeper.
      expect(pages[1], `${pages}`).toBeLessThan(1.8 * (pages[0] ?? 0));
    },
  );
});
