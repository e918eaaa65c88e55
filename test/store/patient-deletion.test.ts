import { sql } from 'kysely';
import pg from 'pg';
import { expect } from 'vitest';
import { growTo, shareAmong } from '../../bench/growth/mass.ts';
import { deletePatient } from '../../src/exchange/operations/erasure/delete-patient.ts';
import { gatewayTest } from '../support/gateway-fixtures.ts';

const PATIENTS = 3_000;
/** Rows of a table, or of its indexes, that deleting a patient may read. */
const READ_MAX = 50;

const test = gatewayTest.extend(
  'admin',
  { scope: 'file' },
  async ({ gateway }, { onCleanup }) => {
    const admin = new pg.Client({ connectionString: gateway.databaseUrl });
    await admin.connect();
    onCleanup(() => admin.end());
    return admin;
  },
);

test('what deleting a patient reads does not grow with the other patients and what is kept about them', async ({
  gateway,
  account,
  admin,
}) => {
  const cohortId = (
    await account.call('POST', 'cohort', { name: 'All' })
  ).json().id;
  await shareAmong(admin, { ...account, cohortId }, 1);
  await growTo(admin, 0, PATIENTS);
  // As many POSTs with an idempotency key as a busy account sends in a day.
  await admin.query(`insert into idempotency_key (account_id, key_hash, request_hash, status, answer, patient_id)
    select account_id, sha256(id::text::bytea), sha256('request'), 200, '{"sealed": "…"}', id from patient`);
  await admin.query('analyze idempotency_key');

  const read = await gateway.store.asAccount(account.accountId, async (tx) => {
    const readSoFar = async () => {
      const { rows } = await sql<{ name: string; read: number }>`
        select relname as name, (seq_tup_read + coalesce(idx_tup_fetch, 0))::integer as read
        from pg_stat_xact_user_tables`.execute(tx.db);
      return new Map(rows.map((row) => [row.name, row.read]));
    };
    const { id = '' } =
      (await tx.db
        .selectFrom('patient')
        .select('id')
        .limit(1)
        .executeTakeFirst()) ?? {};
    const before = await readSoFar();
    await deletePatient(tx, id, () => undefined);
    return [...(await readSoFar())].map(([name, count]) => ({
      name,
      read: count - (before.get(name) ?? 0),
    }));
  });
  expect(read.find(({ name }) => name === 'patient')?.read).toBeGreaterThan(0);
  expect(read.filter((table) => table.read > READ_MAX)).toEqual([]);
});

/**
 * Deleting a webhook destination is rare, and its events are many. Accounts are
 * never deleted.
 */
const READS_ALL = ['event event_destination_id_fkey'];

test('rows that go with another row are found by an index', async ({
  gateway,
}) => {
  const { rows } = await gateway.store.asSystem((tx) =>
    sql<{ key: string }>`
      select conrelid::regclass || ' ' || conname as key from pg_constraint
      where contype = 'f' and confrelid <> 'account'::regclass and not exists (
        select from pg_index where indrelid = conrelid
          and (indpred is null or pg_get_expr(indpred, indrelid) = format('(%s IS NOT NULL)', (
            select attname from pg_attribute where attrelid = conrelid and attnum = conkey[1])))
          and (indkey::smallint[])[0:cardinality(conkey) - 1] @> conkey)
      order by key`.execute(tx.db),
  );
  expect(rows.map(({ key }) => key)).toEqual(READS_ALL);
});
