import { sql } from 'kysely';
import { pino } from 'pino';
import { expect } from 'vitest';
import {
  isImporting,
  setCompleted,
  setPaused,
} from '../../src/exchange/people/bulk-create/request-store.ts';
import { searchIndexing } from '../../src/exchange/people/patients/search-indexing.ts';
import { patientComparing } from '../../src/exchange/people/possible-duplicates/comparing.ts';
import { createRoundCount } from '../../src/exchange/platform/recovery/reconcile-state-store.ts';
import { createReconciler } from '../../src/exchange/platform/recovery/reconciler.ts';
import {
  type BulkEnvironment,
  csvOf,
  person,
  test,
} from './bulk-environment.ts';

const importing = ({ store }: BulkEnvironment) => store.asSystem(isImporting);
const setUploaded = (
  { store }: BulkEnvironment,
  accountId: string,
  requestId: string,
  minutesAgo: number,
) =>
  store.asAccount(accountId, (tx) =>
    tx.db
      .updateTable('bulk_request')
      .set({
        uploaded_at: sql<Date>`now() - ${minutesAgo} * interval '1 minute'`,
      })
      .where('id', '=', requestId)
      .execute(),
  );

test('possible duplicates of an import are found and its patients indexed only after it, and then at once', async ({
  env,
}) => {
  const { store } = env;
  const account = await env.addAccount();
  const twoSpellings = csvOf([
    person('Katherine'),
    person('Katharine', '02117', { 'phone-1': '6175551234' }),
  ]);
  const requestId = await env.upload(account, twoSpellings);
  await setUploaded(env, account.accountId, requestId, 0);
  const reconciler = createReconciler({
    roundCount: createRoundCount(store),
    recoveries: [patientComparing({ store }), searchIndexing({ store })],
    isImporting: () => importing(env),
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

  await env.run(account.accountId, requestId);
  const during = await reconciler.round(
    undefined,
    new AbortController().signal,
  );
  expect(await waiting()).toEqual({ to_compare: 2, to_index: 2 });
  expect(during.isBehind).toBe(true);

  await store.asAccount(account.accountId, (tx) => setCompleted(tx, requestId));
  await reconciler.round(during, new AbortController().signal);
  expect(await waiting()).toEqual({ to_compare: 0, to_index: 0 });
});

test('nothing gives way to an import that is paused, has ended, or has not ended ten minutes after its upload', async ({
  env,
}) => {
  const { accountId, facilityId } = await env.addAccount();
  const requestId = await env.upload(
    { accountId, facilityId },
    csvOf([person('Ann')]),
  );
  expect(await importing(env)).toBe(false);
  await setUploaded(env, accountId, requestId, 9);
  expect(await importing(env)).toBe(true);
  await env.store.asAccount(accountId, (tx) => setPaused(tx, requestId, true));
  expect(await importing(env)).toBe(false);
  await env.store.asAccount(accountId, (tx) => setPaused(tx, requestId, false));
  await setUploaded(env, accountId, requestId, 11);
  expect(await importing(env)).toBe(false);
  await setUploaded(env, accountId, requestId, 0);
  await env.run(accountId, requestId);
  await env.store.asAccount(accountId, (tx) => setCompleted(tx, requestId));
  expect(await importing(env)).toBe(false);
});
