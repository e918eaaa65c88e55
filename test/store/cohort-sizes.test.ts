import { sql } from 'kysely';
import { expect } from 'vitest';
import {
  findCohort,
  sizeSummation,
} from '../../src/exchange/people/cohorts/cohort-store.ts';
import { gatewayTest } from '../support/gateway-fixtures.ts';

const MEMBERS = 5_000;
/**
 * Rows of members and of changes that a page may read to state the cohort's
 * size.
 */
const READ_MAX = 20;

const test = gatewayTest.extend(
  'cohorts',
  { scope: 'file' },
  ({ gateway, account }) => {
    const addCohort = async (name: string): Promise<string> =>
      (
        await account.call('POST', 'cohort', {
          name,
          purposeOfUse: 'operations',
        })
      ).json().id;
    const addPatients = (count: number): Promise<string[]> =>
      gateway.store.asAccount(account.accountId, async (tx) => {
        const { rows } = await sql<{ id: string }>`
      insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids)
      select gen_random_uuid(), ${account.accountId}, '{A}', '{B}', '1980-01-01', 'U', '[]', '{}'
      from generate_series(1, ${count}::integer) returning id`.execute(tx.db);
        return rows.map(({ id }) => id);
      });
    const addUp = async (): Promise<void> => {
      const recovery = sizeSummation(gateway);
      const round = {
        limit: 500,
        signal: new AbortController().signal,
        recheckBefore: new Date(),
      };
      expect((await recovery.takeUp(round)).failures).toEqual([]);
    };
    const sizeOf = async (id: string) => {
      const stated = (await account.call('GET', `cohort/${id}`)).json().size;
      const members = await account.call(
        'GET',
        `cohort/${id}/patient?count=100`,
      );
      expect(members.json().meta.itemsInTotal).toBe(stated);
      return { stated, counted: members.json().patients.length };
    };
    const changesOf = (id: string): Promise<number> =>
      gateway.store.asSystem(async (tx) => {
        const { rows } = await sql<{ changes: number }>`
      select count(*) as changes from cohort_size_change where cohort_id = ${id}`.execute(
          tx.db,
        );
        return rows[0]?.changes ?? Number.NaN;
      });
    return { addCohort, addPatients, addUp, sizeOf, changesOf };
  },
);

test('what it costs to state the size of a cohort does not grow with its patients', async ({
  gateway,
  account,
  cohorts,
}) => {
  const id = await cohorts.addCohort('Large');
  await cohorts.addPatients(MEMBERS);
  await account.call('POST', `cohort/${id}/patient`, { allPatients: true });

  const { result, read } = await gateway.store.asAccount(
    account.accountId,
    async (tx) => {
      const readSoFar = async () => {
        const { rows } = await sql<{ read: number }>`
        select sum(seq_tup_read + idx_tup_fetch)::integer as read from pg_stat_xact_user_tables
        where relname in ('cohort_member', 'cohort_size_change')`.execute(
          tx.db,
        );
        return rows[0]?.read ?? Number.NaN;
      };
      // An index-only scan counts no fetched rows, so the rows of members are
      // counted by the scans of their index.
      await sql`set local enable_indexonlyscan = off`.execute(tx.db);
      const before = await readSoFar();
      const cohort = await findCohort(tx, id);
      return { result: cohort?.size, read: (await readSoFar()) - before };
    },
  );
  expect(result).toBe(MEMBERS);
  expect(read).toBeLessThan(READ_MAX);
});

test('the size of a cohort is that of its members, before and after its changes are added up', async ({
  account,
  cohorts,
}) => {
  const id = await cohorts.addCohort('Changing');
  const before = await cohorts.sizeOf(id);
  expect(before).toEqual({ stated: 0, counted: 0 });
  const [first = '', second = '', third = ''] = await cohorts.addPatients(3);
  await account.call('POST', `cohort/${id}/patient`, {
    patientIds: [first, second],
  });
  // Already in it: no change.
  await account.call('POST', `cohort/${id}/patient`, {
    patientIds: [second, third],
  });
  expect(await cohorts.sizeOf(id)).toEqual({ stated: 3, counted: 3 });

  await cohorts.addUp();
  expect(await cohorts.changesOf(id)).toBe(0);
  expect(await cohorts.sizeOf(id)).toEqual({ stated: 3, counted: 3 });
  await account.call('DELETE', `cohort/${id}/patient`, { patientIds: [first] });
  // Leaves the cohort by the foreign key.
  expect(
    (await account.call('DELETE', `patient/${second}`)).statusCode,
  ).toBeLessThan(300);
  expect(await cohorts.sizeOf(id)).toEqual({ stated: 1, counted: 1 });

  await cohorts.addUp();
  expect(await cohorts.sizeOf(id)).toEqual({ stated: 1, counted: 1 });
  await account.call('DELETE', `cohort/${id}/patient`, { allPatients: true });
  await account.call('DELETE', `cohort/${id}`);
  await cohorts.addUp();
  expect(await cohorts.changesOf(id)).toBe(0);
});

test('patients who are added while changes are added up are counted once', async ({
  account,
  cohorts,
}) => {
  const id = await cohorts.addCohort('Busy');
  const patientIds = await cohorts.addPatients(60);
  const adding = patientIds.map((patientId) =>
    account.call('POST', `cohort/${id}/patient`, { patientIds: [patientId] }),
  );
  for (let round = 0; round < 10; round++) await cohorts.addUp();
  await Promise.all(adding);
  expect(await cohorts.sizeOf(id)).toEqual({ stated: 60, counted: 60 });
  await cohorts.addUp();
  expect(await cohorts.sizeOf(id)).toEqual({ stated: 60, counted: 60 });
});
