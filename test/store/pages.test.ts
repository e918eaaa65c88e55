import fc from 'fast-check';
import { sql } from 'kysely';
import { v4 as uuidv4 } from 'uuid';
import { expect } from 'vitest';
import type { SortBy } from '../../src/contract/paging.ts';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { listCohortPatients } from '../../src/exchange/people/cohorts/member-store.ts';
import { listPatients } from '../../src/exchange/people/patients/patient-store.ts';
import type { AccountTx } from '../../src/exchange/platform/database/database.ts';
import type { ListPlace } from '../../src/exchange/platform/database/page.ts';
import { searchLeading } from '../../src/exchange/records/reading/record-search-store.ts';
import { readLeading } from '../../src/exchange/records/reading/record-store.ts';
import { storeTest } from '../support/fixtures.ts';
import { querySql } from '../support/postgres-tools.ts';
import { propertyOf } from '../support/property.ts';

const accountId = uuidv4();
const cohortId = uuidv4();
const test = storeTest.extend(
  'undone',
  { scope: 'file' },
  async ({ store }) => {
    await store.asSystem((tx) =>
      insertAccount(tx, { id: accountId, name: 'Pages', settings: {} }),
    );
    await store.asAccount(accountId, (tx) =>
      sql`insert into cohort (id, account_id, name, description, color, purpose_of_use, settings)
        values (${cohortId}, ${accountId}, 'Pages', '', 'white', 'treatment', '{}')`.execute(
        tx.db,
      ),
    );
    /** Leaves the database as it was. */
    async function undone(
      work: (tx: AccountTx) => Promise<void>,
    ): Promise<void> {
      await store
        .asAccount(accountId, async (tx) => {
          await work(tx);
          throw new RolledBack();
        })
        .catch((error: unknown) => {
          if (!(error instanceof RolledBack)) throw error;
        });
    }
    return undone;
  },
);
class RolledBack extends Error {}

/**
 * Adds patients to account and cohort; `seconds` are when they were created, so
 * several at the same instant.
 */
async function add(
  tx: AccountTx,
  seconds: readonly number[],
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with added as (
      insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids, created_at)
      select gen_random_uuid(), ${accountId}, '{A}', '{B}', '1980-01-01', 'U', '[]', '{}',
             timestamptz '2026-01-01 00:00:00.123456Z' + second * interval '1 microsecond'
      from unnest(${seconds}::int[]) second returning id)
    insert into cohort_member (account_id, cohort_id, patient_id)
    select ${accountId}, ${cohortId}, id from added returning patient_id as id`.execute(
    tx.db,
  );
  return rows.map(({ id }) => id);
}

const remove = (tx: AccountTx, id: string) =>
  sql`delete from patient where id = ${id}`.execute(tx.db);

const direction = fc.constantFrom('asc' as const, 'desc' as const);
const sorts = fc.oneof(
  direction.map((d): SortBy[] => [{ column: 'id', direction: d }]),
  direction.map((d): SortBy[] => [{ column: 'createdAt', direction: d }]),
  fc.tuple(direction, direction).map(([a, b]): SortBy[] => [
    { column: 'createdAt', direction: a },
    { column: 'id', direction: b },
  ]),
);
const instants = (max: number) =>
  fc.array(fc.nat({ max: 4 }), { maxLength: max });

const walks = propertyOf(
  [
    sorts,
    fc.constantFrom('patients' as const, 'members' as const),
    fc.integer({ min: 1, max: 6 }),
    instants(14),
    fc.array(instants(3), { minLength: 1, maxLength: 6 }),
    fc.array(fc.nat(), { maxLength: 3 }),
  ],
  { numRuns: 30 },
);
test(
  walks.named(
    'walking forward, then backward, sees who was there throughout exactly once, whoever comes and goes',
  ),
  async ({ undone }) =>
    walks.holds(async (sort, list, count, atFirst, arrivals, departures) => {
      await undone(async (tx) => {
        const staying = new Set(await add(tx, atFirst));
        const leaving = await add(tx, departures.slice(0, 2));
        let steps = 0;
        const readOne = async (edge: { from?: ListPlace; to?: ListPlace }) => {
          await add(tx, arrivals[steps % arrivals.length] ?? []);
          const gone = steps % 2 === 1 ? leaving.pop() : undefined;
          if (gone !== undefined) await remove(tx, gone);
          steps += 1;
          expect(steps).toBeLessThan(300);
          const request = { sort, count, ...edge };
          return list === 'patients'
            ? listPatients(tx, {}, request)
            : listCohortPatients(tx, cohortId, request);
        };
        const stayed = (items: readonly { id: string }[]) =>
          items.map(({ id }) => id).filter((id) => staying.has(id));

        const forward: string[] = [];
        let page = await readOne({});
        expect(page.previous).toBeUndefined();
        forward.push(...stayed(page.items));
        // New ones may come faster than one page takes, so they end with the
        // walk.
        for (let walked = 0; page.next !== undefined; walked += 1) {
          if (walked === 8) arrivals = [[]];
          page = await readOne({ from: page.next });
          forward.push(...stayed(page.items));
        }
        expect([...forward].sort()).toEqual([...staying].sort());

        const backward = [...stayed(page.items)].reverse();
        while (page.previous !== undefined) {
          page = await readOne({ to: page.previous });
          expect(page.items.length).toBeLessThanOrEqual(count);
          backward.push(...stayed(page.items).reverse());
        }
        expect(backward).toEqual([...forward].reverse());
      });
    }),
);

test('a page whose items are all gone still leads back', async ({ undone }) => {
  await undone(async (tx) => {
    const ids = await add(tx, [1, 2, 3]);
    const sort: SortBy[] = [{ column: 'createdAt', direction: 'asc' }];
    const first = await listPatients(tx, {}, { sort, count: 2 });
    await remove(tx, ids[2] ?? '');
    const second = await listPatients(
      tx,
      {},
      { sort, count: 2, from: first.next },
    );
    expect([second.items, second.next]).toEqual([[], undefined]);
    const back = await listPatients(
      tx,
      {},
      { sort, count: 2, to: second.previous },
    );
    expect(back.items.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(back.next).toBeUndefined();
  });
});

test('a total is exact up to 10,000; above, it says that there are more', async ({
  undone,
}) => {
  await undone(async (tx) => {
    const read = () =>
      listPatients(
        tx,
        {},
        { sort: [{ column: 'id', direction: 'asc' }], count: 1 },
      );
    await add(
      tx,
      Array.from({ length: 10_000 }, () => 0),
    );
    expect(await read()).toMatchObject({
      total: 10_000,
      isTotalMinimum: false,
    });
    await add(tx, [0]);
    expect(await read()).toMatchObject({ total: 10_000, isTotalMinimum: true });
  });
});

test('a page of all patients reads its own rows, and counts the others in an index of few pages', async ({
  store,
  database,
}) => {
  const id = uuidv4();
  await store.asSystem((tx) =>
    insertAccount(tx, { id, name: 'Counted', settings: {} }),
  );
  await store.asAccount(id, (tx) =>
    sql`insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids)
      select (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid, ${id}, '{A}', '{B}', '1980-01-01', 'U', '[]', '{}' from generate_series(1, 12000) n`.execute(
      tx.db,
    ),
  );
  // Commits of tests are not flushed, and what is not flushed is not visible to all.
  await querySql(database.databaseUrl, 'checkpoint');
  await querySql(database.databaseUrl, 'vacuum analyze patient');
  const pagesRead = await store.asAccount(id, async (tx) => {
    const page = await listPatients(
      tx,
      {},
      { sort: [{ column: 'createdAt', direction: 'desc' }], count: 50 },
    );
    expect(page).toMatchObject({ total: 10_000, isTotalMinimum: true });
    const { rows } = await sql<{ pages: number }>`
      select sum(pg_stat_get_xact_blocks_fetched(oid))::integer as pages from pg_class
      where oid = 'patient'::regclass
        or oid in (select indexrelid from pg_index where indrelid = 'patient'::regclass)`.execute(
      tx.db,
    );
    return rows[0]?.pages ?? Number.NaN;
  });
  expect(pagesRead).toBeGreaterThan(0);
  expect(pagesRead).toBeLessThan(40);
});

const newest = { by: 'date', isDescending: true } as const;
const ofType = { resourceType: 'Condition', clauses: [], lastUpdated: [] };
test.for<[string, (tx: AccountTx, patientId: string) => Promise<unknown>]>([
  ['record', (tx, id) => readLeading(tx, id, {}, undefined, 10)],
  [
    'search in a record',
    (tx, id) =>
      searchLeading(tx, id, { ...ofType, sort: newest }, undefined, 10),
  ],
])(
  'a page of a %s can be read in the order of an index, without sorting all of it',
  async ([, read], { undone }) => {
    await undone(async (tx) => {
      const scans = async () => {
        const { rows } = await sql<{ scans: number }>`
        select pg_stat_get_xact_numscans('record_origin_leading'::regclass)::integer as scans`.execute(
          tx.db,
        );
        return rows[0]?.scans ?? Number.NaN;
      };
      // Of an empty table PostgreSQL would take no index.
      await sql`set local enable_seqscan = off`.execute(tx.db);
      await sql`set local enable_sort = off`.execute(tx.db);
      const before = await scans();
      await read(tx, uuidv4());
      expect((await scans()) - before).toBe(1);
    });
  },
);
