import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createTestGateway,
  TEST_BASE_URL,
  type TestAccount,
  type TestGateway,
} from '../support/gateway.ts';

const PATIENTS = 100_000;
let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await createTestGateway();
  account = await gateway.addAccount();
  await gateway.store.asSystem((tx) =>
    sql`insert into patient (id, account_id, first_names, last_names, dob, gender, addresses, facility_ids,
          treatment_relationship, created_at)
        select gen_random_uuid(), ${account.accountId}, '{A}', '{B}', '1980-01-01', 'U', '[]', '{}', n > 3,
          timestamptz '2026-01-01' + n * interval '1 second'
        from generate_series(1, ${PATIENTS + 3}) n`.execute(tx.db),
  );
});
afterAll(() => gateway.close());

test('100,000 patients are added by one call, listed page by page, and removed by one call', async () => {
  const { id } = (
    await account.call('POST', 'cohort', { name: 'Everybody' })
  ).json();
  const added = await account.call('POST', `cohort/${id}/patient`, {
    allPatients: true,
  });
  expect(added.json()).toMatchObject({
    cohort: { size: PATIENTS },
    skipped: { total: 3 },
  });

  for (const sort of ['id=asc', 'createdAt=desc']) {
    const seen = new Set<string>();
    let address = `/medical/v1/cohort/${id}/patient?count=100&sort=${sort}`;
    for (let page = 0; page < 2; page += 1) {
      const { patients, meta } = (await account.call('GET', address)).json();
      expect(meta.itemsInTotal).toBe(PATIENTS);
      for (const patient of patients) seen.add(patient.id);
      address = meta.nextPage.replace(TEST_BASE_URL, '');
    }
    expect(seen.size).toBe(200);
  }

  const removed = await account.call('DELETE', `cohort/${id}/patient`, {
    allPatients: true,
  });
  expect(removed.json()).toMatchObject({
    message: '100000 patients removed from the cohort',
    cohort: { size: 0 },
  });
  expect((await account.call('DELETE', `cohort/${id}`)).statusCode).toBe(204);
});
