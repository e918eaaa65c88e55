import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { expect, onTestFinished, test } from 'vitest';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { querySql } from '../support/postgres-tools.ts';

async function openStore() {
  const { databaseUrl, drop } = await createTestDatabase();
  const store = createStore({ databaseUrl, poolMax: 2 });
  onTestFinished(async () => {
    await store.close();
    await drop();
  });
  await store.asSystem(async ({ db }) => {
    await sql`reset role`.execute(db);
    await sql`create table note (id integer primary key)`.execute(db);
    await sql`grant all on note to exchange_system`.execute(db);
  });
  const ids = () =>
    store.asSystem(async ({ db }) =>
      (
        await sql<{ id: number }>`select id from note order by id`.execute(db)
      ).rows.map(({ id }) => id),
    );
  return { store, databaseUrl, ids };
}

const insert = (id: number) => sql`insert into note values (${id})`;

test('what is sent later runs in its turn, and commits with the rest', async () => {
  const { store, ids } = await openStore();
  await store.asSystem(async (tx) => {
    await insert(1).execute(tx.db.later);
    const { rows } = await sql`select id from note`.execute(tx.db);
    expect(rows).toEqual([{ id: 1 }]);
    await insert(2).execute(tx.db.later);
  });
  expect(await ids()).toEqual([1, 2]);
});

test('if it fails, the commit throws its error and nothing is kept', async () => {
  const { store, ids } = await openStore();
  const failing = store.asSystem(async (tx) => {
    await insert(1).execute(tx.db);
    await insert(2).execute(tx.db.later);
    await insert(2).execute(tx.db.later);
  });
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  expect(await ids()).toEqual([]);
});

test('if it fails, the next statement throws its error, not that the transaction has failed', async () => {
  const { store, ids } = await openStore();
  const failing = store.asSystem(async (tx) => {
    await insert(1).execute(tx.db.later);
    await insert(1).execute(tx.db.later);
    await sql`select 1`.execute(tx.db);
  });
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  expect(await ids()).toEqual([]);
});

test('work that throws takes back what was to be sent later, and the connection goes on', async () => {
  const { store, ids } = await openStore();
  for (let round = 0; round < 5; round++) {
    const failing = store.asSystem(async (tx) => {
      await insert(round).execute(tx.db.later);
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
  }
  expect(await ids()).toEqual([]);
});

test('a transaction whose role cannot be set runs nothing', async () => {
  const { databaseUrl, ids } = await openStore();
  const login = `stranger_${randomBytes(6).toString('hex')}`;
  await querySql(
    databaseUrl,
    `create role ${login} login password 'x'; grant all on note to ${login}`,
  );
  const address = new URL(databaseUrl);
  Object.assign(address, { username: login, password: 'x' });
  const store = createStore({ databaseUrl: address.href, poolMax: 1 });
  onTestFinished(async () => {
    await store.close();
    await querySql(databaseUrl, `drop owned by ${login}; drop role ${login}`);
  });
  await expect(
    store.asSystem((tx) => insert(1).execute(tx.db.later)),
  ).rejects.toThrow('permission denied to set role');
  expect(await ids()).toEqual([]);
});

test('what is waited for together runs in the order of the calls, each with its own rows', async () => {
  const { store, ids } = await openStore();
  const count = sql<{ notes: number }>`select count(*)::int as notes from note`;
  const seen = await store.asSystem(async (tx) => {
    const db = tx.db.together;
    const all = [
      count.execute(db),
      insert(1).execute(db),
      count.execute(db),
      insert(2).execute(db),
    ];
    await Promise.all(all);
    return (await Promise.all([all[0], all[2], count.execute(tx.db)])).map(
      (each) => each?.rows[0],
    );
  });
  expect(seen).toEqual([{ notes: 0 }, { notes: 1 }, { notes: 2 }]);
  expect(await ids()).toEqual([1, 2]);
});

test('if one of them fails, its error is thrown and nothing is kept', async () => {
  const { store, ids } = await openStore();
  const failing = store.asSystem((tx) =>
    Promise.all([1, 1, 2].map((id) => insert(id).execute(tx.db.together))),
  );
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  expect(await ids()).toEqual([]);
});

test('what is united is one statement, with the parameters of each part, and commits with the rest', async () => {
  const { store, ids } = await openStore();
  await store.asSystem(async (tx) => {
    await tx.db.united(async (db) => {
      await insert(1).execute(db.later);
      await sql`insert into note values (${2}), (${3})`.execute(db.later);
      await sql`delete from note where id in (${7}, ${8})`.execute(db.later);
    });
    await tx.db.united(async () => undefined);
    await insert(4).execute(tx.db.later);
  });
  expect(await ids()).toEqual([1, 2, 3, 4]);
});

test('if a part of it fails, none is kept, and the commit throws its error', async () => {
  const { store, ids } = await openStore();
  const failing = store.asSystem((tx) =>
    tx.db.united(async (db) => {
      await insert(1).execute(db.later);
      await insert(1).execute(db.later);
    }),
  );
  await expect(failing).rejects.toMatchObject({ code: '23505' });
  expect(await ids()).toEqual([]);
});

test('what is waited for cannot be united', async () => {
  const { store, ids } = await openStore();
  const failing = store.asSystem((tx) =>
    tx.db.united(async (db) => {
      await insert(1).execute(db);
    }),
  );
  await expect(failing).rejects.toThrow('Only what is sent later');
  expect(await ids()).toEqual([]);
});

test('a statement after the end is refused: the connection belongs to others', async () => {
  const { store, ids } = await openStore();
  const kept = await store.asSystem(async (tx) => ({ tx }));
  for (const db of [kept.tx.db, kept.tx.db.later, kept.tx.db.together])
    await insert(1)
      .execute(db)
      .catch(() => undefined);
  await expect(insert(2).execute(kept.tx.db)).rejects.toThrow('has ended');
  expect(await ids()).toEqual([]);
});
