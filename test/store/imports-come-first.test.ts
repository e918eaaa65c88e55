import { sql } from 'kysely';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isImporting, setCompleted, setPaused } from '../../src/exchange/people/bulk-create/request-store.ts';
import { searchIndexing } from '../../src/exchange/people/patients/search-indexing.ts';
import { patientComparing } from '../../src/exchange/people/possible-duplicates/comparing.ts';
import { createRoundCount } from '../../src/exchange/platform/recovery/reconcile-state-store.ts';
import { createReconciler } from '../../src/exchange/platform/recovery/reconciler.ts';
import { type BulkEnvironment, createBulkEnvironment, csvOf, person } from './bulk-environment.ts';

let bulk: BulkEnvironment;
beforeAll(async () => {
  bulk = await createBulkEnvironment();
});
afterAll(() => bulk.close());

const importing = () => bulk.store.asSystem(isImporting);
const setUploaded = (accountId: string, requestId: string, minutesAgo: number) =>
  bulk.store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('bulk_request')
      .set({ uploaded_at: sql<Date>`now() - ${minutesAgo} * interval '1 minute'` })
      .where('id', '=', requestId)
      .execute(),
  );

test('possible duplicates of an import are found and its patients indexed only after it, and then at once', async () => {
  const { store } = bulk;
  const account = await bulk.addAccount();
  const twoSpellings = csvOf([
    person('Katherine'),
    person('Katharine', '02117', { 'phone-1': '6175551234' }),
  ]);
  const requestId = await bulk.upload(account, twoSpellings);
  await setUploaded(account.accountId, requestId, 0);
  const reconciler = createReconciler({
    roundCount: createRoundCount(store),
    recoveries: [patientComparing({ store }), searchIndexing({ store })],
    isImporting: importing,
    logger: pino({ enabled: false }),
  });
  const waiting = () =>
    store.asAccount(account.accountId, async (tx) => {
      const counted = await sql<{ to_compare: number; to_index: number }>`
        select (select count(*) from patient_to_compare)::int as to_compare,
          (select count(*) from patient_search where text is null)::int as to_index
      `.execute(tx.db);
      return counted.rows[0];
    });

  await bulk.run(account.accountId, requestId);
  const during = await reconciler.round(undefined, new AbortController().signal);
  expect(await waiting()).toEqual({ to_compare: 2, to_index: 2 });
  expect(during.isBehind).toBe(true);

  await store.asAccount(account.accountId, (tx) => setCompleted(tx, requestId));
  await reconciler.round(during, new AbortController().signal);
  expect(await waiting()).toEqual({ to_compare: 0, to_index: 0 });
});

test('nothing gives way to an import that is paused, has ended, or has not ended ten minutes after its upload', async () => {
  const { accountId, facilityId } = await bulk.addAccount();
  const requestId = await bulk.upload({ accountId, facilityId }, csvOf([person('Ann')]));
  expect(await importing()).toBe(false);
  await setUploaded(accountId, requestId, 9);
  expect(await importing()).toBe(true);
  await bulk.store.asAccount(accountId, (tx) => setPaused(tx, requestId, true));
  expect(await importing()).toBe(false);
  await bulk.store.asAccount(accountId, (tx) => setPaused(tx, requestId, false));
  await setUploaded(accountId, requestId, 11);
  expect(await importing()).toBe(false);
  await setUploaded(accountId, requestId, 0);
  await bulk.run(accountId, requestId);
  await bulk.store.asAccount(accountId, (tx) => setCompleted(tx, requestId));
  expect(await importing()).toBe(false);
});
