import { sql } from 'kysely';
import { expect } from 'vitest';
import { runsToEnsure } from '../../src/exchange/queries/network-query/launcher.ts';
import { queryTest as test } from '../support/fixtures.ts';

test('a run that was never started comes before any number of older ones that are looked at again', async ({
  environment,
}) => {
  const { accountId } = await environment.addAccount();
  const patientId = await environment.addPatient(accountId);
  const first = await environment.addQuery(accountId, patientId, ['hie']);
  const second = await environment.addQuery(accountId, patientId, ['hie']);
  await environment.store.asSystem(async ({ db }) => {
    await sql`update network_query_run set requested_at = now() - interval '1 minute' where query_id = ${first}`.execute(
      db,
    );
    await sql`
      insert into network_query_run (query_id, run, account_id, sources, requested_at, workflow_started_at)
      select ${second}, n, ${accountId}, '{hie}', now() - interval '2 days', now() - n * interval '1 hour'
      from generate_series(1, 600) as n`.execute(db);
  });
  const runs = await environment.store.asSystem((tx) =>
    runsToEnsure(tx, {
      olderThanMs: 5_000,
      recheckBefore: new Date(),
      limit: 500,
    }),
  );
  expect(runs).toHaveLength(500);
  expect(runs[0]).toMatchObject({ requestId: first, isStarted: false });
  // Of the others, those that were not seen for the longest time.
  expect(runs.slice(1, 3).map(({ run }) => run)).toEqual([600, 599]);
});
