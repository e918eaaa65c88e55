import { sql } from 'kysely';
import { v7 as uuidv7 } from 'uuid';
import type { documentEndpoints } from '../../../../src/contract/documents.ts';
import { badQuery, NO_ID, type OperationCases } from '../operation-cases.ts';
import type { World } from '../world.ts';

/** A file that a source gave of a new patient. */
export async function documentOf(
  world: World,
  {
    content = 'text',
    type = 'text/plain',
    sizeBytes,
  }: { content?: string; type?: string; sizeBytes?: number } = {},
): Promise<{ id: string; patientId: string; fileName: string }> {
  const patientId = await world.make.patient();
  const queryId = await world.make.query(patientId);
  const blob = await world.blobs.put('document', Buffer.from(content), type);
  const id = uuidv7();
  const fileName = `hie-${id}.xml`;
  await world.inAccount(async ({ db, accountId }) => {
    const owner = { account_id: accountId, patient_id: patientId };
    await db
      .insertInto('document')
      .values({
        id,
        ...owner,
        query_id: queryId,
        source: 'hie',
        kind: 'attachment',
        source_document_id: 'd-1',
        file_name: fileName,
        content_type: type,
        size_bytes: sizeBytes ?? blob.sizeBytes,
        sha256: Buffer.from(blob.sha256, 'hex'),
        blob_ref: blob.ref,
      })
      .execute();
  });
  return { id, patientId, fileName };
}

/** A file whose source has marked it as entered in error. */
async function takenBackDocumentOf(
  world: World,
): Promise<{ fileName: string }> {
  const { id, patientId, fileName } = await documentOf(world);
  const reference = {
    resourceType: 'DocumentReference',
    id: 'd-1',
    docStatus: 'entered-in-error',
  };
  await world.inAccount(({ db, accountId }) =>
    sql`insert into patient_resource (account_id, patient_id, source, resource_type, source_id, document_id, sha256, content)
      values (${accountId}, ${patientId}, 'hie', 'DocumentReference', 'd-1', ${id}, ${Buffer.alloc(32)},
        ${JSON.stringify(reference)}::jsonb)`.execute(db),
  );
  return { fileName };
}

const DAYS = [
  badQuery(
    { dateFrom: '2020-13-01' },
    'dateFrom',
    'not a date in the format YYYY-MM-DD',
  ),
  badQuery(
    { dateFrom: '2020-01-02', dateTo: '2020-01-01' },
    'dateTo',
    'before dateFrom',
  ),
];

export const documentCases: Record<
  keyof typeof documentEndpoints,
  OperationCases
> = {
  listDocuments: {
    good: async (world) => ({
      query: { patientId: (await documentOf(world)).patientId },
    }),
    more: [
      {
        what: 'as plain objects, filtered',
        status: 200,
        send: async (world) => ({
          query: {
            patientId: (await documentOf(world)).patientId,
            output: 'dto',
            dateFrom: '2020-01-01',
            content: 'text',
          },
        }),
      },
    ],
    refused: [
      ...DAYS,
      badQuery({ patientId: undefined }, 'patientId', 'patientId is required'),
      badQuery({ output: 'xml' }, 'output', 'expected one of'),
      badQuery({ content: ' ' }, 'content', ''),
      {
        what: 'an unknown patient',
        status: 404,
        send: () => ({ query: { patientId: NO_ID } }),
        message: 'Patient not found',
      },
    ],
  },
  getDocumentUrl: {
    good: async (world) => ({
      query: { fileName: (await documentOf(world)).fileName },
    }),
    refused: [
      badQuery({ fileName: undefined }, 'fileName', 'is required'),
      badQuery({ fileName: '' }, 'fileName', ''),
      badQuery({ conversionType: 'png' }, 'conversionType', 'expected one of'),
      badQuery({ conversionType: 'pdf' }, 'conversionType', ''),
      {
        what: 'an unknown file',
        status: 404,
        send: () => ({ query: { fileName: '../../etc/passwd' } }),
        message: 'Document not found',
      },
      {
        what: 'a document that its source has taken back',
        status: 410,
        send: async (world) => ({
          query: { fileName: (await takenBackDocumentOf(world)).fileName },
        }),
        message: 'The source has withdrawn this document',
      },
      {
        what: 'a conversion of XML that is no C-CDA',
        status: 422,
        send: async (world) => ({
          query: {
            fileName: (
              await documentOf(world, {
                content: '<a/>',
                type: 'application/xml',
              })
            ).fileName,
            conversionType: 'html',
          },
        }),
        message: '',
      },
    ],
  },
  startBulkDocumentUrls: {
    good: async (world) => ({
      query: { patientId: (await documentOf(world)).patientId },
    }),
    refused: [
      badQuery({ patientId: undefined }, 'patientId', 'patientId is required'),
      {
        what: 'an unknown patient',
        status: 404,
        send: () => ({ query: { patientId: NO_ID } }),
        message: 'Patient not found',
      },
    ],
  },
};
