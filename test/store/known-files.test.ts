import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createQueryEnvironment,
  type QueryEnvironment,
  runActivity,
  stepOf,
} from '../support/network-query-environment.ts';
import { observation, page, sourceOf } from '../support/source-pages.ts';

let environment: QueryEnvironment;
let accountId: string;
beforeAll(async () => {
  environment = await createQueryEnvironment();
  ({ accountId } = await environment.addAccount({ limits: { networkQueriesPerMinute: 100_000 } }));
});
afterAll(() => environment.close());

const attachment = (text: string) => ({
  bytes: Buffer.from(text),
  contentType: 'text/plain',
  documentReferenceId: 'note',
});

/** Queries a patient of the hie source. Returns the blobs of the query's documents, and those of them that it stored. */
async function ask(patientId: string, text: string, beforeStoring = async (_requestId: string) => {}) {
  const requestId = await environment.addQuery(accountId, patientId, ['hie']);
  const stored: string[] = [];
  const blobs = {
    ...environment.blobs,
    has: async (ref: string) => {
      await beforeStoring(requestId);
      return environment.blobs.has(ref);
    },
    put: async (...args: Parameters<typeof environment.blobs.put>) => {
      const blob = await environment.blobs.put(...args);
      stored.push(blob.ref);
      return blob;
    },
  };
  const source = sourceOf([page([observation('one')], { attachments: [attachment(text)] })]);
  const { askSource } = environment.activities(source, { blobs });
  await runActivity(askSource, stepOf(accountId, requestId, 'hie'));
  const documents = await environment.store.asAccount(accountId, (tx) =>
    tx.db
      .selectFrom('document')
      .select(['kind', 'blob_ref as ref'])
      .where('query_id', '=', requestId)
      .orderBy('kind')
      .execute(),
  );
  return { documents, stored };
}

const read = async (ref: string | undefined) => (await environment.blobs.read(ref ?? '')).toString();

test('a query stores only the files that are new, or that got lost; each of its documents can be read', async () => {
  const patientId = await environment.addPatient(accountId);
  const first = await ask(patientId, 'a note');
  expect(first.stored).toHaveLength(2);

  const second = await ask(patientId, 'a note');
  expect(second).toEqual({ documents: first.documents, stored: [] });

  const changed = await ask(patientId, 'another note');
  const [note, kept] = changed.documents;
  expect(changed.stored).toEqual([note?.ref]);
  expect(kept).toEqual(first.documents[1]);
  expect(await read(note?.ref)).toBe('another note');

  await environment.blobs.delete(first.documents[0]?.ref ?? '');
  const healed = await ask(patientId, 'a note');
  expect(healed.stored).toEqual([healed.documents[0]?.ref]);
  expect(await read(healed.documents[0]?.ref)).toBe('a note');
});

test('an execution that comes too late deletes no file of an earlier answer', async () => {
  const patientId = await environment.addPatient(accountId);
  const { documents } = await ask(patientId, 'a note');
  const late = ask(patientId, 'a note', (requestId) =>
    environment.store.asAccount(accountId, async (tx) => {
      const attempt = tx.db.updateTable('network_query_attempt').where('query_id', '=', requestId);
      await attempt.set({ status: 'failed' }).execute();
    }),
  );
  await expect(late).rejects.toThrow();
  for (const { ref } of documents) expect(await environment.blobs.has(ref)).toBe(true);
});

test('files of another patient are not shared', async () => {
  const [one, other] = [await environment.addPatient(accountId), await environment.addPatient(accountId)];
  const [first, second] = [await ask(one, 'a note'), await ask(other, 'a note')];
  expect(second.stored).toHaveLength(2);
  expect(second.documents.map(({ ref }) => ref)).not.toContain(first.documents[0]?.ref);
});
