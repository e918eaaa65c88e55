import fc from 'fast-check';
import { sql } from 'kysely';
import { expect } from 'vitest';
import {
  type BlobNames,
  missingBlobs,
  verifyBlobs,
} from '../../src/exchange/platform/blobs/verify-blobs.ts';
import { openFolder } from '../../src/shared/blobs/file-blob-store.ts';
import { runAdminWith } from '../support/run-admin.ts';
import { test as bulkTest, csvOf } from './bulk-environment.ts';
import { someRows } from './bulk-rows.ts';

const test = bulkTest
  .extend('account', { scope: 'file' }, ({ env }) => env.addAccount())
  .extend(
    'names',
    { scope: 'file' },
    ({ env }): Promise<BlobNames> => openFolder(env.blobFolder),
  )
  /** A processed bulk create: an upload and a result. */
  .extend('imported', async ({ env, account }) => {
    const requestId = await env.upload(
      account,
      csvOf(fc.sample(someRows(2), 1)[0] ?? []),
    );
    await env.run(account.accountId, requestId);
    const row = await env.store.asAccount(account.accountId, (tx) =>
      sql<{ upload: string; result: string }>`
        select upload->>'ref' as upload, result->>'ref' as result from bulk_request where id = ${requestId}
      `.execute(tx.db),
    );
    const [refs] = row.rows;
    if (refs === undefined) throw new Error('there is no such request');
    const change = (set: ReturnType<typeof sql>) =>
      env.store.asAccount(account.accountId, (tx) =>
        sql`update bulk_request set ${set} where id = ${requestId}`.execute(
          tx.db,
        ),
      );
    return { ...refs, change };
  })
  .extend(
    'verify',
    ({ env, names }) =>
      () =>
        runAdminWith({ store: env.store, blobs: names }, 'blobs', 'verify'),
  );

test('blobs verify finds blobs that rows refer to and that are missing, and blobs without a row', async ({
  env,
  imported,
  verify,
}) => {
  const { result } = imported;
  const whole = await verify();
  expect(whole).toMatchObject({
    exitCode: 0,
    document: { missing: {}, missingBlobs: [], unnamed: 0 },
  });
  expect(whole.document.references).toBe(2);
  expect(whole.document.blobs).toBeGreaterThanOrEqual(2);

  await env.blobs.delete(result);
  await env.blobs.put('document', Buffer.from('left by a kill'), 'text/plain');
  await env.ageBlobs(3_600_000);
  await env.blobs.put(
    'document',
    Buffer.from('its row comes any moment'),
    'text/plain',
  );
  expect(await verify()).toMatchObject({
    exitCode: 3,
    document: {
      missing: { bulk_request: 1 },
      missingBlobs: [{ table: 'bulk_request', ref: result }],
      unnamed: 1,
    },
  });
});

test('an upload that was deleted after its time is not missing', async ({
  env,
  imported,
  verify,
}) => {
  const { upload, change } = imported;
  await env.blobs.delete(upload);
  expect((await verify()).document.missingBlobs).toContainEqual({
    table: 'bulk_request',
    ref: upload,
  });
  await change(sql`upload_deleted_at = now()`);
  expect((await verify()).document.missingBlobs).not.toContainEqual({
    table: 'bulk_request',
    ref: upload,
  });
});

test('a blob that is deleted with its row meanwhile is not missing', async ({
  env,
  names,
  imported,
}) => {
  const { result, change } = imported;
  let isDeleted = false;
  const busy: BlobNames = {
    async *list(kind, digits) {
      if (!isDeleted && result.startsWith(`${kind}/${digits}`)) {
        isDeleted = true;
        await env.blobs.delete(result);
        await change(sql`result = null`);
      }
      yield* names.list(kind, digits);
    },
  };
  const report = await verifyBlobs({ store: env.store, blobs: busy });
  expect(isDeleted).toBe(true);
  expect(report.missingBlobs.map(({ ref }) => ref)).not.toContain(result);
});

test('reconcile finds missing blobs, one part of the store in each round, and counts those of no other part', async ({
  env,
  imported,
  verify,
}) => {
  const { result } = imported;
  const logged: unknown[] = [];
  const recovery = missingBlobs({
    store: env.store,
    blobs: env.blobs,
    logger: { error: (facts: unknown) => logged.push(facts) },
  });
  const part = Number.parseInt(
    result.slice(result.indexOf('/') + 1).slice(0, 2),
    16,
  );
  const signal = new AbortController().signal;
  const round = (cursor?: string) =>
    recovery.takeUp({ limit: 500, signal, recheckBefore: new Date(), cursor });

  const { found: before } = await round(String(part));
  await env.blobs.delete(result);
  expect(await round(String(part))).toMatchObject({
    found: before + 1,
    healed: 0,
    cursor: String((part + 1) % 256),
  });
  expect(logged.at(-1)).toEqual({
    missing: before + 1,
    tables: ['bulk_request'],
  });
  expect(JSON.stringify(logged)).not.toContain(result);

  const cursors: (string | undefined)[] = [undefined];
  let found = 0;
  for (let count = 0; count < 256; count++) {
    const taken = await round(cursors.at(-1));
    found += taken.found;
    cursors.push(taken.cursor);
  }
  expect(new Set(cursors.slice(1)).size).toBe(256);
  expect(found).toBe((await verify()).document.missing.bulk_request);
});
