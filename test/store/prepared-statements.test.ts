import { type RawBuilder, sql } from 'kysely';
import { expect, vi } from 'vitest';
import type { SystemTx } from '../../src/exchange/platform/database/database.ts';
import { storeTest } from '../support/fixtures.ts';

// A process prepares so many statements and no more; files that ran in this one before may have used them up.
vi.resetModules();
const { createStore, NOT_FLUSHED } = await import(
  '../../src/exchange/platform/database/database.ts'
);
const { uuidArray } = await import(
  '../../src/exchange/platform/database/pg-arrays.ts'
);

/** More often than a statement must be asked to be prepared. */
const OFTEN = 8;

/** A store with one connection, so that what it prepares can be read there. */
const test = storeTest.extend('single', async ({ database }, { onCleanup }) => {
  const store = createStore({ databaseUrl: database.databaseUrl, poolMax: 1 });
  onCleanup(() => store.close());
  const ask = <Row>(statement: RawBuilder<Row>) =>
    store.asSystem(async ({ db }) => (await statement.execute(db)).rows);
  return {
    ask,
    askAsNetwork: <Row>(statement: RawBuilder<Row>) =>
      store.asResponder('01a22bdf-85e1-733e-85d8-36a2028a175e', ({ db }) =>
        statement.execute(db),
      ),
    async often<Row>(statement: () => RawBuilder<Row>) {
      for (let time = 0; time < OFTEN; time++) await ask(statement());
    },
    prepared: async (text: string) =>
      (
        await ask(
          sql`select from pg_prepared_statements where statement like ${`%${text}%`}`,
        )
      ).length,
  };
});

test('a statement that is asked often is parsed once a connection', async ({
  single,
}) => {
  await single.ask(sql`select ${1}::int as asked_once`);
  await single.often(() => sql`select ${1}::int as asked_often`);

  expect(await single.prepared('asked_once')).toBe(0);
  expect(await single.prepared('asked_often')).toBe(1);
  expect(await single.ask(sql`select ${7}::int as asked_often`)).toEqual([
    { asked_often: 7 },
  ]);
});

test('a network’s statement, of which the names mean other tables, is not what was prepared of ours', async ({
  single,
}) => {
  const statement = () =>
    sql`select id, first_names from patient where id = ${'01a22bdf-85e1-733e-85d8-36a2028a175e'}`;
  for (let time = 0; time < OFTEN; time++)
    await single.askAsNetwork(statement());
  expect(await single.prepared('first_names')).toBe(0);

  await single.often(statement);
  expect(await single.prepared('first_names')).toBe(1);
  await single.askAsNetwork(statement());
});

test('a long list is planned for itself, a short one is not', async ({
  single,
}) => {
  const ids = (count: number) =>
    uuidArray(
      Array.from(
        { length: count },
        () => '01a22bdf-85e1-733e-85d8-36a2028a175e',
      ),
    );
  await single.often(
    () => sql`select cardinality(${ids(501)}::uuid[]) as long`,
  );
  await single.often(() => sql`select cardinality(${ids(9)}::uuid[]) as short`);

  expect(await single.prepared('as long')).toBe(0);
  expect(await single.prepared('as short')).toBe(1);
});

test('a build reads a table on while the next one adds a column to it', async ({
  single,
  store,
}) => {
  const add = (column: string) =>
    store.call(sql`alter table widened add column ${sql.ref(column)} int`);
  await store.call(sql`create table widened (id int)`);
  await store.call(sql`grant all on widened to public`);
  await store.call(sql`insert into widened values (1)`);
  const all = () => sql`select * from widened where id = ${1}`;
  const one = () => sql`select id from widened where id = ${1}`;
  const returned = () => sql`update widened as w set id = ${1} returning w.*`;

  for (const asked of [all, one, returned]) await single.often(asked);
  await add('more');

  expect(await single.ask(all())).toEqual([{ id: 1, more: null }]);
  expect(await single.ask(one())).toEqual([{ id: 1 }]);
  expect(await single.ask(returned())).toEqual([{ id: 1, more: null }]);
});

test('a prepared statement whose transaction fails is asked again in the next one', async ({
  single,
}) => {
  const divided = (by: number) =>
    sql<{ part: number }>`select 1 / ${by}::int as part`;
  await single.often(() => divided(1));

  await expect(single.ask(divided(0))).rejects.toThrow('division by zero');
  expect(await single.ask(divided(1))).toEqual([{ part: 1 }]);
});

test('what is not flushed is committed like everything else, and only it does not wait for the disk', async ({
  database,
  onTestFinished,
}) => {
  const waiting = new URL(database.databaseUrl);
  waiting.searchParams.set('options', '-c synchronous_commit=on');
  const store = createStore({ databaseUrl: waiting.href, poolMax: 1 });
  onTestFinished(() => store.close());
  const target = 'http://not-flushed/';
  const look = ({ db }: Pick<SystemTx, 'db'>) =>
    sql`select current_setting('synchronous_commit') as waits,
      exists (select from source_budget where target = ${target}) as "isThere"`.execute(
      db,
    );

  const during = await store.asSystem(async (tx) => {
    await sql`insert into source_budget (target) values (${target})`.execute(
      tx.db,
    );
    return look(tx);
  }, NOT_FLUSHED);
  const after = await store.asSystem(look);

  expect(during.rows).toEqual([{ waits: 'off', isThere: true }]);
  expect(after.rows).toEqual([{ waits: 'on', isThere: true }]);
});
