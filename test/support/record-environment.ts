import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import type { SourceType } from '../../src/contract/primitives.ts';
import { insertAccount } from '../../src/exchange/access/accounts/account-store.ts';
import { insertPatient } from '../../src/exchange/people/patients/patient-store.ts';
import { newContent } from '../../src/exchange/people/patients/rules/patient-content.ts';
import { createStore } from '../../src/exchange/platform/database/database.ts';
import { noteIncomplete } from '../../src/exchange/queries/network-query/timeline-store.ts';
import { createCcdaConverter } from '../../src/exchange/records/conversion/ccda-converter.ts';
import {
  insertDocuments,
  insertSourcePatientIds,
  upsertResources,
} from '../../src/exchange/records/deliveries/delivery-store.ts';
import {
  type ConsolidatedFilter,
  type ConsolidatedPlace,
  type ConsolidatedResource,
  readConsolidated,
} from '../../src/exchange/records/reading/read-consolidated.ts';
import { createRecordKeeper } from '../../src/exchange/records/record-keeper.ts';
import { revisionOf } from '../../src/exchange/records/rules/delivery-facts.ts';
import type { Person } from '../../src/exchange/records/rules/fold-patient.ts';
import { openFileBlobStore } from '../../src/shared/blobs/file-blob-store.ts';
import type { Delivered } from './merge-deliveries.ts';
import { createTestDatabase, type TestDatabase } from './postgres.ts';
import { testKeyRing } from './test-keys.ts';

/**
 * A database of its own with an account, into which a test delivers as the
 * collection does.
 *
 * @param database migrated; default: a copy on the server of the test run
 */
export async function createRecordEnvironment(database?: TestDatabase) {
  database ??= await createTestDatabase();
  const { databaseUrl, drop } = database;
  const store = createStore({ databaseUrl, poolMax: 8 });
  const blobFolder = join(tmpdir(), `records-test-${uuidv7()}`);
  const blobs = await openFileBlobStore(blobFolder, testKeyRing());
  const records = createRecordKeeper({
    store,
    blobs,
    converter: createCcdaConverter(),
    noteIncomplete,
  });
  const accountId = uuidv7();
  await store.asSystem((tx) =>
    insertAccount(tx, { id: accountId, name: 'Test', settings: {} }),
  );

  async function read(
    patientId: string,
    filter: ConsolidatedFilter = {},
    count = 97,
  ) {
    const all: ConsolidatedResource[] = [];
    let after: ConsolidatedPlace | undefined;
    do {
      const page = await store.asAccount(accountId, (tx) =>
        readConsolidated(tx, patientId, filter, after, count),
      );
      all.push(...page.resources);
      after = page.next;
    } while (after !== undefined);
    return all;
  }

  return {
    databaseUrl,
    store,
    blobs,
    idHmacKey: 'test-id-hmac-key-of-32-characters',
    records,
    accountId,
    async addPatient(person: Omit<Person, 'patientId'>): Promise<string> {
      const patientId = uuidv7();
      await store.asAccount(accountId, (tx) =>
        insertPatient(
          tx,
          patientId,
          newContent(person, { externalId: person.externalId }, []),
          [],
        ),
      );
      return patientId;
    },
    /**
     * Keeps deliveries of one source as a page does, or as the conversion of a
     * document does; returns the name of the page.
     */
    async deliver(
      patientId: string,
      source: SourceType,
      deliveries: readonly Delivered[],
      patientIds: Iterable<string>,
    ): Promise<string> {
      const documentId = uuidv7();
      const fileName = `${source}-${documentId}.json`;
      await store.asAccount(accountId, async (tx) => {
        await insertDocuments(tx, [
          {
            id: documentId,
            patientId,
            queryId: uuidv7(),
            source,
            kind: 'page',
            fileName,
            contentType: 'application/fhir+json',
            sizeBytes: 1,
            sha256: createHash('sha256').digest(),
            blobRef: 'x',
          },
        ]);
        await insertSourcePatientIds(tx, patientId, source, [...patientIds]);
        await upsertResources(
          tx,
          {
            patientId,
            source,
            documentId,
            ...(deliveries[0]?.isConverted === true && {
              convertedFrom: documentId,
            }),
          },
          deliveries.map(({ resourceType, sourceId, sha256, content }) => ({
            resourceType,
            sourceId,
            sha256,
            json: JSON.stringify(content),
            revision: revisionOf(content),
          })),
        );
      });
      return fileName;
    },
    /**
     * Stores a document that a DocumentReference of the source names, as
     * collection does.
     */
    async deliverDocument(
      patientId: string,
      source: SourceType,
      {
        bytes,
        contentType,
        sourceDocumentId,
      }: { bytes: Buffer; contentType: string; sourceDocumentId: string },
    ): Promise<string> {
      const { ref, sha256, sizeBytes } = await blobs.put(
        'document',
        bytes,
        contentType,
      );
      const id = uuidv7();
      await store.asAccount(accountId, (tx) =>
        insertDocuments(tx, [
          {
            id,
            patientId,
            queryId: uuidv7(),
            source,
            kind: 'attachment',
            contentType,
            sizeBytes,
            sourceDocumentId: sourceDocumentId,
            fileName: `${source}-${id}.xml`,
            blobRef: ref,
            sha256: Buffer.from(sha256, 'hex'),
          },
        ]),
      );
      return id;
    },
    read,
    /**
     * The whole record as text, but for the names of documents and of the
     * person, which differ by chance.
     */
    async text(patientId: string): Promise<string> {
      const contents = (await read(patientId)).map(({ content }) => content);
      return JSON.stringify(contents, null, 1)
        .replaceAll(
          /"(hie|lab|pharmacy)-[0-9a-f-]{36}\.json"/g,
          '"$1-page.json"',
        )
        .replaceAll(patientId, 'the-patient');
    },
    async close() {
      await store.close();
      await drop();
      await rm(blobFolder, { recursive: true, force: true });
    },
  };
}

export type RecordEnvironment = Awaited<
  ReturnType<typeof createRecordEnvironment>
>;
