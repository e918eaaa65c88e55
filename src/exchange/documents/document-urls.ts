import { v7 as uuidv7 } from 'uuid';
import { DOCUMENT_URLS_EVENT_TYPE, type DocumentUrlsEvent } from '../../contract/documents.ts';
import type { StoredPatient } from '../patients/patient-store.ts';
import type { AccountTx } from '../platform/database/database.ts';
import { insertEvent } from '../platform/outbox/event-store.ts';
import { listDocuments } from './document-store.ts';

/**
 * Announces download URLs for all documents of a patient by webhook. The documents are known at once, so no workflow is
 * needed: the event is all (decision 34). The URLs are added when the webhook is sent.
 */
export async function announceDocumentUrls(
  tx: AccountTx,
  { id: patientId, externalId, additionalIdentifiers }: StoredPatient,
): Promise<{ requestId: string }> {
  const requestId = uuidv7();
  const type = DOCUMENT_URLS_EVENT_TYPE;
  const documents = await listDocuments(tx, patientId);
  const occurredAt = new Date();
  const announced: Omit<DocumentUrlsEvent['patients'][number], 'documents'> = {
    patientId,
    externalId: externalId ?? undefined,
    ...(Object.keys(additionalIdentifiers ?? {}).length === 0
      ? {}
      : { additionalIds: additionalIdentifiers }),
    status: 'completed',
  };
  await insertEvent(tx, {
    type,
    factKey: `${type}/${requestId}`,
    patientId,
    requestId,
    occurredAt,
    body: {
      meta: { requestId, when: occurredAt.toISOString(), type },
      patients: [
        {
          ...announced,
          documents: documents.map(({ id, fileName, contentType, sizeBytes }) => ({
            id,
            fileName,
            mimeType: contentType,
            size: sizeBytes,
          })),
        },
      ],
    },
  });
  return { requestId };
}
