import { expect } from 'vitest';
import { queryTest } from '../support/fixtures.ts';
import {
  type QueryAccount,
  runActivity,
} from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

const test = queryTest.extend('querying', { scope: 'file' }, ({ account }) => ({
  ...account,
  ask: (
    patientId: string,
    text: string,
    beforeStoring?: (requestId: string) => Promise<void>,
  ) => ask(account, { patientId, text, beforeStoring }),
  read: async (ref: string | undefined) =>
    (await account.blobs.read(ref ?? '')).toString(),
}));

const attachment = (text: string) => ({
  bytes: Buffer.from(text),
  contentType: 'text/plain',
  sourceDocumentId: 'note',
});

/**
 * Queries a patient of the hie source. Returns the blobs of the query's
 * documents, and those of them that it stored.
 */
async function ask(
  account: QueryAccount,
  asked: {
    patientId: string;
    text: string;
    beforeStoring?: (requestId: string) => Promise<void>;
  },
) {
  const { patientId, text, beforeStoring } = asked;
  const requestId = await account.addQuery(patientId, ['hie']);
  const stored: string[] = [];
  const blobs = {
    ...account.blobs,
    has: async (ref: string) => {
      await beforeStoring?.(requestId);
      return account.blobs.has(ref);
    },
    put: async (...args: Parameters<typeof account.blobs.put>) => {
      const blob = await account.blobs.put(...args);
      stored.push(blob.ref);
      return blob;
    },
  };
  const source = sourceOf([
    page([observation('one')], { attachments: [attachment(text)] }),
  ]);
  const { askSource } = account.activities(source, { blobs });
  await runActivity(askSource, account.step(requestId, 'hie'));
  const documents = await account.inTx((tx) =>
    tx.db
      .selectFrom('document')
      .select(['kind', 'blob_ref as ref'])
      .where('query_id', '=', requestId)
      .orderBy('kind')
      .execute(),
  );
  return { documents, stored };
}

test('a query stores only the files that are new, or that got lost; each of its documents can be read', async ({
  querying: { blobs, ask, addPatient, read },
}) => {
  const patientId = await addPatient();
  const first = await ask(patientId, 'a note');
  expect(first.stored).toHaveLength(2);

  const second = await ask(patientId, 'a note');
  expect(second).toEqual({ documents: first.documents, stored: [] });

  const changed = await ask(patientId, 'another note');
  const [note, kept] = changed.documents;
  expect(changed.stored).toEqual([note?.ref]);
  expect(kept).toEqual(first.documents[1]);
  expect(await read(note?.ref)).toBe('another note');

  await blobs.delete(first.documents[0]?.ref ?? '');
  const healed = await ask(patientId, 'a note');
  expect(healed.stored).toEqual([healed.documents[0]?.ref]);
  expect(await read(healed.documents[0]?.ref)).toBe('a note');
});

test('an execution that comes too late deletes no file of an earlier answer', async ({
  querying: { blobs, inTx, addPatient, ask },
}) => {
  const patientId = await addPatient();
  const { documents } = await ask(patientId, 'a note');
  const late = ask(patientId, 'a note', (requestId) =>
    inTx(async (tx) => {
      const attempt = tx.db
        .updateTable('network_query_attempt')
        .where('query_id', '=', requestId);
      await attempt.set({ status: 'failed' }).execute();
    }),
  );
  await expect(late).rejects.toThrow();
  for (const { ref } of documents) expect(await blobs.has(ref)).toBe(true);
});

test('files of another patient are not shared', async ({
  querying: { addPatient, ask },
}) => {
  const one = await addPatient();
  const other = await addPatient();
  const first = await ask(one, 'a note');
  const second = await ask(other, 'a note');
  expect(second.stored).toHaveLength(2);
  expect(second.documents.map(({ ref }) => ref)).not.toContain(
    first.documents[0]?.ref,
  );
});
